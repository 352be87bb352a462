import { beforeEach, describe, expect, test } from '@jest/globals';
import { silentLogger } from '../../core/log.js';
import { createMemoryReports, type Reports } from '../../core/reports/reports.js';
import type { HostOutcome, HostPolicy, HostRequest } from '../../core/policy/policy-hosts.js';
import { anHour } from '../conformance/usage-requests.js';
import { counterOfSender, limitCounter } from '../../core/usage/counter-names.js';
import type {
  CounterState,
  LimitShare,
  ReserveRequest,
  ReserveResult,
} from '../../core/usage/reserve-request.js';
import type { AddressKey } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import { leaseMs } from '../../server/ops/report-board.js';
import { createServingNotes, type ServingNotes } from '../../server/ops/serving-notes.js';

const start = 1_760_000_000_000;
const minute = 60_000;
let now: EpochMs;
let isAway: boolean;
let reports: Reports;
let writes: number;
let world: Replica;

/** A replica: what its store counts, which limits are configured now, and what its hosts answer. */
type Replica = {
  readonly notes: ServingNotes;
  readonly counted: Map<string, CounterState>;
  readonly limits: Map<string, LimitShare>;
  hosts: Map<string, HostPolicy>;
  outcome: HostOutcome;
  probes: number;
};

function aReplica(): Replica {
  const counted = new Map<string, CounterState>();
  const limits = new Map<string, LimitShare>();
  const replica: Replica = {
    counted,
    limits,
    hosts: new Map([['kyc', webhook]]),
    outcome: failed,
    probes: 0,
    notes: createServingNotes({
      reports,
      usage: {
        counters: async (_chainId, asked) =>
          asked.map(({ counter }) => counted.get(counter) ?? { used: 0, reserved: 0 }),
      },
      limitNow: (_paymasterId, policyId) => limits.get(policyId),
      hosts: {
        call: async ({ isTest }) => {
          if (isTest === true) replica.probes += 1;
          return [replica.outcome];
        },
      },
      hostNow: (_paymasterId, policyId) => {
        const policy = replica.hosts.get(policyId);
        return policy && { organisation: 'acme', policy };
      },
      clock: { now: () => now },
      log: silentLogger,
    }),
  };
  return replica;
}

const webhook: HostPolicy = {
  policyId: 'kyc',
  name: 'kyc',
  url: 'https://h.example',
  method: 'POST',
  onError: 'Deny',
};
const failed: HostOutcome = { verdict: 'failed', detail: 'no answer' };

beforeEach(() => {
  now = start as EpochMs;
  isAway = false;
  writes = 0;
  const memory = createMemoryReports({ clock: { now: () => now }, log: silentLogger });
  reports = {
    all: (subject) => memory.all(subject),
    merge: async (subject, added) => {
      if (isAway) throw new Error('away');
      writes += 1;
      await memory.merge(subject, added);
    },
  };
  world = aReplica();
});

/** The troubles that the operator reads. */
const told = async (): Promise<Readonly<Record<string, string>>> =>
  Object.fromEntries(
    Array.from(await reports.all('serving'), ([subject, { trouble }]) => [subject, trouble] as const).filter(
      ([, trouble]) => trouble !== 'WebhookAnswers',
    ),
  );

async function pass(ms: number, replicas: readonly Replica[] = [world]): Promise<void> {
  for (let left = ms; left > 0; left -= 5_000) {
    now = (now + Math.min(left, 5_000)) as EpochMs;
    for (const { notes } of replicas) await notes.look();
  }
}

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

/** A request that this limit refuses, with this much used. */
async function refusedBy(share: LimitShare, used: number, policyId = 'daily'): Promise<void> {
  const result: ReserveResult = { outcome: 'limit', index: 0, used };
  const usage = world.notes.ofUsage({
    reserve: async () => result,
    peek: async () => ({ result, limits: [], holds: [], accounts: [] }),
  });
  world.limits.set(policyId, share);
  world.counted.set(share.counter, { used, reserved: 0 });
  const key = { chainId: 31337, paymasterId: 'shop' };
  await usage.reserve({ key, limits: [share] } as unknown as ReserveRequest);
  await world.notes.look();
}

test('a chain that is not followed is reported, also while many limits are full, until its blocks settle', async () => {
  for (let i = 0; i < 1_000; i++) {
    const policyId = `limit-${i}`;
    const share = aShare({ counter: limitCounter(policyId, { ...anHour(3), name: '0/3' }) });
    world.limits.set(policyId, share);
    world.counted.set(share.counter, { used: 10, reserved: 0 });
    const usage = world.notes.ofUsage({
      reserve: async (): Promise<ReserveResult> => ({ outcome: 'limit', index: 0, used: 10 }),
      peek: async () => ({ result: { outcome: 'reserved' }, limits: [], holds: [], accounts: [] }),
    });
    const key = { chainId: 31337, paymasterId: 'shop' };
    await usage.reserve({ key, limits: [share] } as unknown as ReserveRequest);
  }
  world.notes.following(8453, 'Failing');
  await world.notes.look();
  expect(await told()).toMatchObject({
    'chain.8453': 'Failing',
    'limit-0': 'LimitFull',
    'limit-998': 'LimitFull',
  });
  world.notes.following(8453, undefined);
  await world.notes.look();
  expect(await told()).not.toHaveProperty(['chain.8453']);
});

test('a price that has jumped is reported until one is accepted', async () => {
  const token = { chainId: 1, address: `0x${'0C'.repeat(20)}` as const } as never;
  world.notes.priceRead(token, true);
  await world.notes.look();
  expect(Object.values(await told())).toEqual(['PriceJump']);
  world.notes.priceRead(token, false);
  await world.notes.look();
  expect(await told()).toEqual({});
});

describe('a limit', () => {
  test('that all users share and that is full is reported for as long as it is full, without a further request', async () => {
    await refusedBy(aShare(), 10);
    expect(await told()).toEqual({ daily: 'LimitFull' });
    await pass(10 * minute);
    expect(await told()).toEqual({ daily: 'LimitFull' });
  });

  test('is written once in half of a lease', async () => {
    await refusedBy(aShare(), 10);
    writes = 0;
    await pass(leaseMs * 2);
    expect(writes).toBe(4);
  });

  test('is no longer reported once its cycle is over', async () => {
    await refusedBy(aShare({ window: { from: 0 as EpochMs, until: (start + minute) as EpochMs } }), 10);
    world.limits.set('daily', aShare({ counter: limitCounter('daily', { ...anHour(4), name: '0/4' }) }));
    await pass(minute);
    expect(await told()).toEqual({});
  });

  test.each<{ name: string; change: () => void }>([
    { name: 'its threshold was raised', change: () => world.limits.set('daily', aShare({ threshold: 20 })) },
    { name: 'the policy was deleted or paused', change: () => world.limits.delete('daily') },
    {
      name: 'the policy is in Shadow',
      change: () => world.limits.set('daily', aShare({ enforce: false })),
    },
    {
      name: 'promises have expired',
      change: () => world.counted.set(aShare().counter, { used: 3, reserved: 6 }),
    },
  ])('is no longer reported at the next look after $name', async ({ change }) => {
    await refusedBy(aShare(), 10);
    change();
    await world.notes.look();
    expect(await told()).toEqual({});
  });

  test('stays reported while the store does not answer', async () => {
    await refusedBy(aShare(), 10);
    const { counted } = world;
    counted.get = () => {
      throw new Error('away');
    };
    await pass(2 * minute);
    expect(await told()).toEqual({ daily: 'LimitFull' });
  });

  test('whose config cannot be read ends no look: others are still reported', async () => {
    await refusedBy(aShare(), 10);
    world.limits.get = () => {
      throw new RangeError('a window without an end');
    };
    await pass(leaseMs / 2);
    world.notes.following(8453, 'Failing');
    await world.notes.look();
    expect(await told()).toEqual({ daily: 'LimitFull', 'chain.8453': 'Failing' });
  });

  test('ends with the replica that has reported it', async () => {
    await refusedBy(aShare(), 10);
    now = (now + leaseMs) as EpochMs;
    expect(await told()).toEqual({});
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
    expect(await told()).toEqual({});
  });

  test('of coins is full when a hundredth is left', async () => {
    await refusedBy(aShare({ unit: 'NATIVE_ASSET', threshold: 1_000, cost: 20 }), 990);
    expect(await told()).toEqual({ daily: 'LimitFull' });
  });

  test('is reported later if the report could not be written', async () => {
    isAway = true;
    await refusedBy(aShare(), 10);
    isAway = false;
    expect(await told()).toEqual({});
    await world.notes.look();
    expect(await told()).toEqual({ daily: 'LimitFull' });
  });
});

describe('the host of a webhook', () => {
  const ask = async (outcome: HostOutcome, of: Replica = world, policy = webhook, isShadow = false) => {
    const hosts = of.notes.ofWebhooks({ call: async () => [outcome] });
    const request = { paymasterId: 'shop', policies: [policy], ...(isShadow ? { isShadow } : {}) };
    await hosts.call(request as unknown as HostRequest);
  };

  test('fails when it was asked for a minute and did not answer', async () => {
    await ask(failed);
    await pass(minute - 5_000);
    expect(await told()).toEqual({});
    await ask(failed);
    await pass(5_000);
    expect(await told()).toEqual({ kyc: 'WebhookFailing' });
    expect(world.probes).toBe(0);
  });

  test('that nobody asks again is asked by us, after a minute and then once a minute', async () => {
    await ask(failed);
    await pass(minute);
    expect(world.probes).toBe(1);
    expect(await told()).toEqual({ kyc: 'WebhookFailing' });
    await pass(5 * minute);
    expect(world.probes).toBe(6);
    world.outcome = { verdict: 'verified' };
    await pass(minute);
    expect(await told()).toEqual({});
  });

  test('no longer fails as soon as it answers a request, also if it says no', async () => {
    await ask(failed);
    await pass(minute);
    await ask({ verdict: 'refused' });
    await world.notes.look();
    expect(await told()).toEqual({});
  });

  test('still fails when a caller sends what cannot be passed on to it', async () => {
    await ask(failed);
    await pass(minute);
    await ask({ verdict: 'refused', detail: 'webhookData.id must be a text' });
    await world.notes.look();
    expect(await told()).toEqual({ kyc: 'WebhookFailing' });
  });

  test('that answers between its failures does not fail', async () => {
    for (let i = 0; i < 20; i++) {
      await ask(failed);
      await pass(5_000);
      await ask({ verdict: 'verified' });
    }
    await pass(5 * minute);
    expect(await told()).toEqual({});
  });

  test('that another replica reaches does not fail', async () => {
    const other = aReplica();
    const both = [world, other];
    for (let i = 0; i < 30; i++) {
      await ask(failed);
      await ask({ verdict: 'verified' }, other);
      await pass(5_000, both);
    }
    expect(await told()).toEqual({});
    // Nobody reaches it any longer.
    for (let i = 0; i < 30; i++) {
      await ask(failed);
      await pass(5_000, both);
    }
    expect(await told()).toEqual({ kyc: 'WebhookFailing' });
  });

  test.each<{ name: string; change: (host: HostPolicy) => Map<string, HostPolicy> }>([
    {
      name: 'was given another URL',
      change: (host) => new Map([['kyc', { ...host, url: 'https://new.example' }]]),
    },
    { name: 'belongs to a policy that was deleted', change: () => new Map() },
  ])('no longer fails when it $name', async ({ change }) => {
    await ask(failed);
    await pass(minute);
    world.hosts = change(webhook);
    await world.notes.look();
    expect(await told()).toEqual({});
    await pass(5 * minute);
    expect(world.probes).toBe(1);
  });

  test('is not reported if its policy allows what it does not answer, or is in Shadow', async () => {
    await ask(failed, world, { ...webhook, onError: 'Allow' });
    await ask(failed, world, webhook, true);
    await pass(5 * minute);
    expect(await told()).toEqual({});
    expect(world.probes).toBe(0);
  });
});
