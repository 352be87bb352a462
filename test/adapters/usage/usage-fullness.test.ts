import { afterEach, describe, expect, test } from '@jest/globals';
import { join } from 'node:path';
import { createMetrics } from '../../../adapters/metrics/prometheus.js';
import { createSqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import { maxShown, shownForMs } from '../../../adapters/store/usage-fullness.js';
import { silentLogger } from '../../../core/log.js';
import { liveCounter } from '../../../core/usage/counter-names.js';
import type { EpochMs } from '../../../core/units/time.js';
import { aLimit, aRequest, startMs } from '../../conformance/usage-requests.js';
import { aClock } from './clock.js';
import { aDirectory } from './sqlite-usage.js';

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function openCounted() {
  const directory = aDirectory();
  cleanUps.push(() => directory.remove());
  const metrics = createMetrics({ process: false });
  const store = createSqliteUsageStore({
    path: join(directory.path, 'usage.db'),
    clock: aClock(),
    log: silentLogger,
    metrics,
    durability: 'process',
  });
  cleanUps.push(() => store.stop());
  return { store, lines: async () => (await metrics.render()).body.split('\n') };
}

test('the metrics show how full limits are when they are asked, refusals included', async () => {
  const { store, lines: shown } = await openCounted();
  const reserve = (nonce: bigint, threshold: number) =>
    store.reserve(
      aRequest({
        key: { nonce },
        limits: [aLimit({ counter: 'policy-1/0/0/', threshold, cost: 1, unit: 'COUNT' })],
        accounts: [],
      }),
    );

  expect((await reserve(1n, 2)).outcome).toBe('reserved');
  expect((await reserve(2n, 2)).outcome).toBe('reserved');
  expect((await reserve(3n, 2)).outcome).toBe('limit');
  const lines = await shown();
  const labels = 'scope="PAYMASTER",unit="COUNT"';
  expect(lines).toContain(`paymaster_limit_used_ratio_bucket{le="0.25",${labels}} 0`);
  expect(lines).toContain(`paymaster_limit_used_ratio_bucket{le="0.5",${labels}} 1`);
  expect(lines).toContain(`paymaster_limit_used_ratio_bucket{le="0.99",${labels}} 1`);
  expect(lines).toContain(`paymaster_limit_used_ratio_bucket{le="1",${labels}} 3`);
});

test('an operation that is asked for again, with another limit, shows each limit as full as it is', async () => {
  const { store, lines } = await openCounted();
  const spend = aLimit({ counter: 'spend/0/0/', unit: 'NATIVE_ASSET', threshold: 1000, cost: 900 });
  const count = aLimit({ counter: 'count/0/0/', unit: 'COUNT', threshold: 10, cost: 1 });
  expect((await store.reserve(aRequest({ limits: [spend] }))).outcome).toBe('reserved');
  expect((await store.reserve(aRequest({ limits: [count, spend] }))).outcome).toBe('reserved');
  expect(await lines()).toContain(
    'paymaster_limit_used_ratio_bucket{le="0.1",scope="PAYMASTER",unit="COUNT"} 1',
  );
  expect(await lines()).toContain(
    'paymaster_limit_used_ratio_bucket{le="0.9",scope="PAYMASTER",unit="NATIVE_ASSET"} 2',
  );
});

describe('limits of whole paymasters that are nearly full are shown by name', () => {
  async function opened() {
    const directory = aDirectory();
    cleanUps.push(() => directory.remove());
    const metrics = createMetrics({ process: false });
    const clock = aClock();
    const store = createSqliteUsageStore({
      path: join(directory.path, 'usage.db'),
      clock,
      log: silentLogger,
      metrics,
      durability: 'process',
    });
    cleanUps.push(() => store.stop());
    let nonce = 0n;
    const windowMs = 10_000_000;
    const reserve = async (
      policy: string,
      { cost = 1, threshold = 10, subject = '', unit = 'COUNT' as const, paymaster = 'p-1' } = {},
    ) => {
      nonce += 1n;
      const now = clock.now();
      const window = { from: now, until: (startMs + windowMs) as EpochMs };
      const { outcome } = await store.reserve(
        aRequest({
          key: { nonce },
          limits: [aLimit({ counter: `${policy}/0/0/${subject}`, threshold, cost, unit, window })],
          holds: [{ counter: liveCounter(paymaster), unit: 'COUNT', cost: 1, threshold: 1_000_000 }],
          accounts: [],
        }),
      );
      return outcome;
    };
    const shown = async () =>
      (await metrics.render()).body
        .split('\n')
        .filter((line) => line.startsWith('paymaster_limit_nearly_full_ratio{'))
        .toSorted();
    return { clock, reserve, shown, windowMs };
  }
  const line = (policy: string, ratio: number, paymaster = 'p-1') =>
    `paymaster_limit_nearly_full_ratio{paymaster="${paymaster}",policy="${policy}",unit="COUNT"} ${ratio}`;

  test('from 80 % on, refusals included, and no limit of single accounts', async () => {
    const { reserve, shown } = await opened();
    expect(await reserve('low', { cost: 7 })).toBe('reserved');
    expect(await reserve('own', { cost: 10, subject: '0x00000000000000000000000000000000000000aa' })).toBe(
      'reserved',
    );
    expect(await shown()).toEqual([]);
    expect(await reserve('low')).toBe('reserved');
    expect(await shown()).toEqual([line('low', 0.8)]);
    expect(await reserve('low', { cost: 2 })).toBe('reserved');
    expect(await reserve('low')).toBe('limit');
    expect(await reserve('other', { cost: 9, paymaster: 'p-2' })).toBe('reserved');
    expect(await shown()).toEqual([line('low', 1), line('other', 0.9, 'p-2')]);
  });

  test('until there is room again, the window ends, or nobody has asked for it for a while', async () => {
    const { reserve, shown, clock, windowMs } = await opened();
    await reserve('raised', { cost: 9 });
    await reserve('forgotten', { cost: 9 });
    expect(await shown()).toEqual([line('forgotten', 0.9), line('raised', 0.9)]);
    await reserve('raised', { threshold: 100 });
    expect(await shown()).toEqual([line('forgotten', 0.9)]);
    clock.advance(shownForMs - 1);
    expect(await shown()).toEqual([line('forgotten', 0.9)]);
    clock.advance(1);
    expect(await shown()).toEqual([]);
    clock.advance(windowMs - shownForMs - 2);
    await reserve('ending', { cost: 9 });
    expect(await shown()).toEqual([line('ending', 0.9)]);
    clock.advance(2);
    expect(await shown()).toEqual([]);
  });

  test('in bounded number: the others share one value, the fullest', async () => {
    const { reserve, shown } = await opened();
    for (let index = 0; index < maxShown; index += 1) await reserve(`l-${index}`, { cost: 8 });
    for (const cost of [8, 10, 9]) await reserve(`beyond-${cost}`, { cost });
    const lines = await shown();
    expect(lines).toHaveLength(maxShown + 1);
    expect(lines).toContain(line('other', 1, 'other'));
    await reserve('l-0', { threshold: 100 });
    await reserve('beyond-9', { threshold: 11 });
    expect(await shown()).toContain(line('beyond-9', 10 / 11));
  });
});
