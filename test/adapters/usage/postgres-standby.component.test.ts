import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createStops, type Stops } from '../../../adapters/process/stops.js';
import type { PostgresUsageStore } from '../../../adapters/store/postgres/usage.js';
import { toSeconds, type EpochMs } from '../../../core/units/time.js';
import { always } from '../../../core/usage/window.js';
import { forward } from '../../attacks/support/forward.js';
import { aLimit, aRequest, chainId } from '../../conformance/usage-requests.js';
import { startPostgres, type PostgresServer, type Standby } from '../../support/postgres.js';
import { until } from '../../support/until.js';
import { openStore } from './postgres-usage.js';

// A commit that no standby has confirmed: the primary has made it, and may be the only one that ever has it.

const reserved = { outcome: 'reserved' };
const limit = aLimit({ counter: 'limit', window: always, threshold: 3 });

let stops: Stops;
let primary: PostgresServer;
let standby: Standby;
let name: Awaited<ReturnType<typeof forward>>;
let port: number;
let store: PostgresUsageStore;
beforeEach(async () => {
  stops = createStops();
  primary = await startPostgres();
  stops.add(() => primary.stop());
  const database = new URL(await primary.createDatabase());
  standby = await primary.startStandby();
  stops.add(() => standby.stop());
  await primary.waitForStandbys();
  port = primary.port;
  name = await forward(() => port);
  stops.add(() => name.stop());
  database.port = String(name.port);
  store = await openStore(database.href, { timings: {} });
  stops.add(() => store.stop());
  expect(await store.reserve(one(1n))).toEqual(reserved);
});
afterEach(() => stops.run());

const one = (nonce: bigint) =>
  aRequest({
    key: { nonce },
    limits: [limit],
    promise: { validUntil: toSeconds((Date.now() + 300_000) as EpochMs) },
  });

/** The standby is gone, and a request waits for it. Answers the result that the caller gets. */
async function waitingCommit(): Promise<{ readonly answer: Promise<string> }> {
  await standby.stop();
  const answer = store.reserve(one(2n)).then(
    ({ outcome }) => outcome,
    (error: { readonly code: string }) => error.code,
  );
  await until('the commit waits for the standby', async () => (await waiting()).length > 0);
  return { answer };
}

const isWaiting = `wait_event = 'SyncRep'`;
const waiting = () => primary.query(primary.url, `SELECT pid FROM pg_stat_activity WHERE ${isWaiting}`);

/** Whatever was stored of the request that got no answer: asked again it counts once, and the limit is the same. */
async function expectThree(): Promise<void> {
  for (const nonce of [2n, 3n])
    await until('it signs again', async () => {
      const [answer] = await Promise.allSettled([store.reserve(one(nonce))]);
      if (answer.status === 'fulfilled') expect(answer.value).toEqual(reserved);
      else expect(answer.reason).toMatchObject({ details: { reason: 'USAGE_STORE_DOWN' } });
      return answer.status === 'fulfilled';
    });
  expect(await store.reserve(one(4n))).toMatchObject({ outcome: 'limit' });
  expect(await store.liveCount(chainId)).toBe(3);
}

test('is not signed when the primary dies, and counts once when that primary comes back', async () => {
  const { answer } = await waitingCommit();
  await primary.kill();
  expect(await answer).toBe('UNAVAILABLE');
  await primary.start();
  await standby.start();
  await expectThree();
});

test('is not signed when the primary dies, and is not lost when the standby that never had it is promoted', async () => {
  const { answer } = await waitingCommit();
  await primary.kill();
  expect(await answer).toBe('UNAVAILABLE');
  await standby.start();
  await standby.promote();
  port = standby.port;
  name.cut();
  await expectThree();
});

test('is not signed when the wait is cut off and the server answers COMMIT with a warning', async () => {
  const { answer } = await waitingCommit();
  let isAnswered = false;
  const told = answer.finally(() => (isAnswered = true));
  await until('the caller is told', async () => {
    await primary.query(
      primary.url,
      `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE ${isWaiting}`,
    );
    return isAnswered;
  });
  expect(await told).toBe('UNAVAILABLE');
  await standby.start();
  await expectThree();
});
