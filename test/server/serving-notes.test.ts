import { beforeEach, describe, expect, test } from '@jest/globals';
import { silentLogger } from '../../core/log.js';
import type { ServingEntries } from '../../core/policy/serving-reports.js';
import type { WebhookConfig } from '../../core/policy/webhook/spec.js';
import type { HostOutcome, HostRequest } from '../../core/policy/policy-hosts.js';
import { anHour } from '../conformance/usage-requests.js';
import { counterOfSender, limitCounter } from '../../core/usage/counter-names.js';
import type { LimitShare, ReserveRequest, ReserveResult } from '../../core/usage/reserve-request.js';
import type { AddressKey } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import { createServingNotes, standsMs, type ServingNotes } from '../../server/ops/serving-notes.js';

const start = 1_760_000_000_000;
let now: EpochMs;
let written: ServingEntries[];
let isAway: boolean;
let notes: ServingNotes;
beforeEach(() => {
  now = start as EpochMs;
  written = [];
  isAway = false;
  notes = createServingNotes({
    reports: {
      merge: async (_subject, entries) => {
        if (isAway) throw new Error('away');
        written.push(entries as ServingEntries);
      },
    },
    clock: { now: () => now },
    log: silentLogger,
  });
});

const sender = `0x${'ab'.repeat(20)}` as AddressKey;
function aShare(change: Partial<LimitShare> & { readonly of?: AddressKey } = {}): LimitShare {
  const { of, ...rest } = change;
  const forAll = limitCounter('daily', { ...anHour(3), name: '0/3' });
  return {
    counter: of === undefined ? forAll : counterOfSender(forAll, of),
    unit: 'COUNT',
    window: { from: 0 as EpochMs, until: (start + 3_600_000) as EpochMs },
    threshold: 10,
    cost: 1,
    enforce: true,
    ...rest,
  };
}

/** A request that the first of these limits refuses, with this much used. */
async function refusedBy(share: LimitShare, used: number): Promise<void> {
  const result: ReserveResult = { outcome: 'limit', index: 0, used };
  const usage = notes.ofUsage({
    reserve: async () => result,
    peek: async () => ({ result, limits: [], holds: [], accounts: [] }),
  });
  await usage.reserve({ limits: [share] } as unknown as ReserveRequest);
  await notes.report();
}

test('a chain that is not followed is reported, also while many limits are full', async () => {
  for (let i = 0; i < 1_000; i++) {
    const counter = limitCounter(`limit-${i}`, { ...anHour(3), name: '0/3' });
    const usage = notes.ofUsage({
      reserve: async (): Promise<ReserveResult> => ({ outcome: 'limit', index: 0, used: 10 }),
      peek: async () => ({ result: { outcome: 'reserved' }, limits: [], holds: [], accounts: [] }),
    });
    await usage.reserve({ limits: [aShare({ counter })] } as unknown as ReserveRequest);
  }
  notes.notFollowed(8453, 'Failing');
  await notes.report();
  expect(written[0]?.size).toBe(1_001);
  expect(written[0]?.get('chain.8453')).toEqual({ trouble: 'Failing', until: start + standsMs });
});

describe('a limit', () => {
  test('that all users share and that is full is reported, and again when half of its time is over', async () => {
    await refusedBy(aShare(), 10);
    expect(written).toEqual([new Map([['daily', { trouble: 'LimitFull', until: start + standsMs }]])]);
    now = (start + standsMs / 2 - 1) as EpochMs;
    await refusedBy(aShare(), 10);
    expect(written).toHaveLength(1);
    now = (start + standsMs / 2) as EpochMs;
    await refusedBy(aShare(), 10);
    expect(written).toHaveLength(2);
  });

  test('is not reported as full for longer than its cycle', async () => {
    await refusedBy(aShare({ window: { from: 0 as EpochMs, until: (start + 60_000) as EpochMs } }), 10);
    expect(written[0]?.get('daily')?.until).toBe(start + 60_000);
  });

  test.each<{ name: string; share: LimitShare; used: number }>([
    { name: 'of one user', share: aShare({ of: sender }), used: 10 },
    {
      name: 'that one operation asks too much of',
      share: aShare({ unit: 'NATIVE_ASSET', threshold: 1_000, cost: 900 }),
      used: 500,
    },
    { name: 'that has one operation left', share: aShare({ cost: 2 }), used: 9 },
  ])('$name is not full', async ({ share, used }) => {
    await refusedBy(share, used);
    expect(written).toEqual([]);
  });

  test('of coins is full when a hundredth is left', async () => {
    await refusedBy(aShare({ unit: 'NATIVE_ASSET', threshold: 1_000, cost: 20 }), 990);
    expect(written).toHaveLength(1);
  });
});

describe('a webhook', () => {
  const asked = async (onError: WebhookConfig['onError'], outcome: HostOutcome): Promise<number> => {
    const webhook = {
      policyId: 'kyc',
      name: 'kyc',
      url: 'https://h.example',
      method: 'POST',
      onError,
    } as const;
    const webhooks = notes.ofWebhooks({ call: async () => [outcome] });
    await webhooks.call({ policies: [webhook] } as unknown as HostRequest);
    await notes.report();
    return written.length;
  };

  test('that fails is reported if its policy refuses on a failure', async () => {
    expect(await asked('Deny', { verdict: 'failed', detail: 'no answer' })).toBe(1);
    expect(written[0]).toEqual(new Map([['kyc', { trouble: 'WebhookFailing', until: start + standsMs }]]));
  });

  test('that answers no, or whose policy allows on a failure, is not reported', async () => {
    expect(await asked('Allow', { verdict: 'failed', detail: 'no answer' })).toBe(0);
    expect(await asked('Deny', { verdict: 'refused' })).toBe(0);
    expect(await asked('Deny', { verdict: 'verified' })).toBe(0);
  });
});

test('a report that could not be written is written at the next occurrence', async () => {
  isAway = true;
  await refusedBy(aShare(), 10);
  isAway = false;
  await notes.report();
  expect(written).toEqual([]);
  await refusedBy(aShare(), 10);
  expect(written).toHaveLength(1);
});
