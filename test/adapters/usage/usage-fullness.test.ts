import { afterEach, expect, test } from '@jest/globals';
import { join } from 'node:path';
import { createMetrics } from '../../../adapters/metrics/prometheus.js';
import { createSqliteUsageStore } from '../../../adapters/usage/embedded/usage.js';
import { silentLogger } from '../../../core/log.js';
import { aLimit, aRequest } from '../../conformance/usage-requests.js';
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
