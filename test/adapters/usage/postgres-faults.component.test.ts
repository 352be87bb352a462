import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import type { PostgresUsageOptions, PostgresUsageStore } from '../../../adapters/store/postgres/usage.js';
import { forgetWriters } from '../../../adapters/store/postgres/maintenance.js';
import { createMemoryEpochMirror } from '../../../core/usage/epoch.js';
import { always } from '../../../core/usage/window.js';
import { toSeconds, type EpochMs } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import {
  aHash,
  aKey,
  aLimit,
  anAddress,
  aNeed,
  aRequest,
  chainId,
  seconds,
} from '../../conformance/usage-requests.js';
import { aRefusal } from '../../conformance/ledger-records.js';
import { startPostgres, type PostgresServer } from '../../support/postgres.js';
import { until } from '../../support/until.js';
import { startProxy, type PostgresProxy } from './postgres-proxy.js';
import { openStore, patientTimings } from './postgres-usage.js';

const reserved = { outcome: 'reserved' };
const emptyStep = {
  chainId,
  expected: undefined,
  next: { blockNumber: 1, blockHash: aHash(1), timestamp: seconds(1) },
  settled: [],
  released: [],
  forfeited: [],
  charges: [],
  restored: [],
  balances: [],
};
const lost = { code: 'UNAVAILABLE', details: { reason: 'USAGE_STORE_LOST' } };

let server: PostgresServer;
let url: string;
const ending: { stop(): Promise<void> }[] = [];

beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());
beforeEach(async () => {
  url = await server.createDatabase();
});
afterEach(async () => {
  for (const one of ending.splice(0).toReversed()) await one.stop();
});

async function open(at = url, change: Partial<PostgresUsageOptions> = {}): Promise<PostgresUsageStore> {
  const store = await openStore(at, change);
  ending.push(store);
  return store;
}

async function proxied(): Promise<PostgresProxy> {
  const proxy = await startProxy(url);
  ending.push(proxy);
  return proxy;
}

const limit = aLimit({ counter: 'limit', window: always, threshold: 3 });
const one = (nonce: bigint, paymasterId = 'pm-1') =>
  aRequest({
    key: { nonce, paymasterId },
    limits: [limit],
    promise: { validUntil: toSeconds((Date.now() + 300_000) as EpochMs) },
  });
const taken = async (store: PostgresUsageStore) => (await store.counters(chainId, [limit]))[0]?.reserved;

describe('a commit in doubt', () => {
  test('that was made counts once, and its promise is given', async () => {
    const proxy = await proxied();
    const store = await open(proxy.url);
    expect(await store.reserve(one(1n))).toEqual(reserved);
    proxy.fail('answer-lost');
    expect(await store.reserve(one(2n))).toEqual(reserved);
    await proxy.happened();
    expect(await store.liveCount(chainId)).toBe(2);
    expect(await taken(store)).toBe(2);
    expect(await store.reserve(one(3n))).toEqual(reserved);
    expect(await store.reserve(one(4n))).toMatchObject({ outcome: 'limit' });
  });

  test('that never arrived is made again, once', async () => {
    const proxy = await proxied();
    const store = await open(proxy.url);
    expect(await store.reserve(one(1n))).toEqual(reserved);
    proxy.fail('lost-on-the-way');
    expect(await store.reserve(one(2n))).toEqual(reserved);
    await proxy.happened();
    expect(await store.liveCount(chainId)).toBe(2);
    expect(await taken(store)).toBe(2);
  });

  test('promises nothing while the server stays away', async () => {
    const proxy = await proxied();
    const store = await open(proxy.url);
    await store.reserve(one(1n));
    proxy.fail('answer-lost');
    const answer = store.reserve(one(2n)).then(
      () => 'promised',
      (error: { code: string }) => error.code,
    );
    await proxy.happened();
    await server.kill();
    try {
      expect(await answer).toBe('UNAVAILABLE');
    } finally {
      await server.start();
    }
    // It was made and never signed, so it counts until it expires.
    expect(await (await open()).liveCount(chainId)).toBe(2);
  });
});

test('a connection that broke while nobody used it fails no call', async () => {
  const proxy = await proxied();
  const store = await open(proxy.url);
  const { validUntil } = one(1n).promise;
  const expiresAt = (validUntil * 1000) as EpochMs;
  const calls: Readonly<Record<string, () => Promise<unknown>>> = {
    reserve: () => store.reserve(one(1n)),
    counters: () => store.counters(chainId, [limit]),
    reservations: () => store.reservations(chainId),
    ping: () => store.ping(),
    lease: () => store.lease.hold(chainId),
    record: () => store.ledger.add([aRefusal('acme', Date.now() as EpochMs)]),
    put: () => store.putText('pm-1', 'a message', expiresAt),
    get: () => store.getText('pm-1'),
    consume: () => store.takeText('pm-1', 'a message'),
  };
  for (const [name, call] of Object.entries(calls)) {
    // All connections of the pool are there.
    await Promise.all([store.ping(), store.ping(), store.ping()]);
    proxy.breakAtNextUse();
    expect([name, await call().catch((error: unknown) => error)]).not.toEqual([name, expect.any(Error)]);
  }
  expect(await store.liveCount(chainId)).toBe(1);
  expect(await store.takeText('pm-1', 'a message')).toBe(false);
});

test('a replica that stops inside a turn holds others for a moment, and its turn is decided again when it wakes up', async () => {
  const proxy = await proxied();
  const stalled = await open(proxy.url);
  const other = await open();
  await stalled.reserve(one(1n));
  proxy.fail('held');
  const late = stalled.reserve(one(2n));
  await proxy.happened();
  // It waits for the lock, and gets it when the server has ended the turn of the other.
  expect(await other.reserve(one(3n))).toEqual(reserved);
  proxy.release();
  expect(await late).toEqual(reserved);
  expect(await taken(other)).toBe(3);
  expect(await other.liveCount(chainId)).toBe(3);
});

/** What a test holds is not ended before the test goes on, however busy the machine is. */
const untilReleased = { ...patientTimings, crowdMs: 60_000, idleTurnMs: 60_000, lockMs: 60_000 };

test('a turn that finds a reservation with an account that it has not locked waits for it', async () => {
  const [first, second] = [await proxied(), await proxied()];
  const timings = untilReleased;
  const [asking, neighbour] = [await open(first.url, { timings }), await open(second.url, { timings })];
  const ending = await open(url, { timings });
  const [account, other] = [0xc1, 0xc2].map((n) => ({ contract: anAddress(n) }));
  const readAt = Date.now() as EpochMs;
  for (const id of [account!, other!])
    await ending.addBalance(chainId, { ...id, balance: gwei(1_000), reserved: gwei(0), readAt });
  const from = (nonce: bigint, paymasterId: string, id = account!) => ({
    ...one(nonce, paymasterId),
    limits: [],
    accounts: [aNeed(10, id)],
  });
  await asking.reserve(from(1n, 'pm-1'));
  await neighbour.reserve(from(2n, 'pm-2', other));

  // It has locked the paymaster and the other account, which the reservation is about to take from, too.
  first.fail('held');
  const again = asking.reserve(from(1n, 'pm-1', other));
  await first.happened();
  let isEnded = false;
  const ended = ending
    .advance({ ...emptyStep, released: [{ key: aKey({ nonce: 1n }) }] })
    .finally(() => (isEnded = true));
  const isWaiting = async (count: number) =>
    (await server.query(url, `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`)).length >= count;
  await until('the step waits for the paymaster', () => isWaiting(1));
  // It comes before the step, which knows of no other account yet.
  second.fail('held');
  const late = neighbour.reserve(from(3n, 'pm-2', other));
  await until('the neighbour waits for the other account', () => isWaiting(2));
  first.release();
  expect(await again).toEqual(reserved);
  await second.happened();
  await until('the step waits again, or is over', async () => isEnded || (await isWaiting(1)));
  second.release();
  expect(await late).toEqual(reserved);
  expect(await ended).toMatchObject({ isTaken: true });
  expect(await ending.accounts(chainId)).toMatchObject([{ reserved: 0 }, { reserved: 20 }]);
});

test.each([
  { others: 'none', count: 0, turns: 1 },
  { others: 'one of another paymaster, which waits for its own turn', count: 1, turns: 2 },
])('calls that come while a turn waits for its locks join it, beside $others', async (expected) => {
  const store = await open(url, { timings: untilReleased });
  const five = aLimit({ counter: 'limit', window: always, threshold: 5 });
  const ask = (nonce: bigint) => store.reserve({ ...one(nonce), limits: [five] });
  // Calls have come together a moment ago.
  await Promise.all([ask(1n), ask(2n)]);
  const locked = await lockPaymaster();
  const waiting = [ask(3n)];
  await locked.isAwaited();
  waiting.push(ask(4n), ask(5n), ask(6n));
  const elsewhere = Array.from({ length: expected.count }, () =>
    store.reserve({ ...one(7n, 'pm-2'), limits: [] }),
  );
  const before = await turnsBegun();
  await locked.release();

  expect((await Promise.all(waiting)).map(({ outcome }) => outcome)).toEqual([
    'reserved',
    'reserved',
    'reserved',
    'limit',
  ]);
  expect(await Promise.all(elsewhere)).toEqual(elsewhere.map(() => reserved));
  expect((await turnsBegun()) - before).toBe(expected.turns);
});

test('a call that joins, and whose reservation holds what the turn has not locked, makes the turn begin again with all of it', async () => {
  const store = await open(url, { timings: untilReleased });
  const former = aLimit({ counter: 'former', window: always, threshold: 3 });
  await store.reserve({ ...one(4n), limits: [former] });
  await Promise.all([store.reserve(one(1n)), store.reserve(one(2n))]);
  const locked = await lockPaymaster();
  const waiting = [store.reserve(one(3n))];
  await locked.isAwaited();
  waiting.push(store.reserve(one(4n)));
  const before = await turnsBegun();
  await locked.release();

  expect((await Promise.all(waiting)).map(({ outcome }) => outcome)).toEqual(['reserved', 'limit']);
  expect((await turnsBegun()) - before).toBe(2);
  expect((await store.counters(chainId, [limit, former])).map(({ reserved }) => reserved)).toEqual([3, 1]);
});

/** Another connection holds the lock of the first paymaster. */
async function lockPaymaster() {
  const other = new pg.Client({ connectionString: url });
  await other.connect();
  ending.push({ stop: () => other.end() });
  await other.query('BEGIN');
  await other.query(`SELECT FROM usage.lock WHERE name = 'paymaster:pm-1' FOR UPDATE`);
  return {
    isAwaited: () =>
      until('the turn waits', async () => {
        const waits = await server.query(
          url,
          `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
        );
        return waits.length === 1;
      }),
    release: () => other.query('COMMIT'),
  };
}

async function turnsBegun(): Promise<number> {
  return Number((await server.query(url, 'SELECT last_value FROM usage.turn'))[0]?.['last_value']);
}

test('a text that the database does not take refuses one request of its turn', async () => {
  const store = await open();
  await store.reserve(one(0n));
  const answers = await Promise.allSettled([
    store.reserve(one(1n)),
    store.reserve(one(2n, 'pm\u0000')),
    store.reserve(one(3n)),
  ]);
  expect(
    answers.map((answer) => (answer.status === 'fulfilled' ? answer.value.outcome : answer.reason.code)),
  ).toEqual(['reserved', 'INTERNAL', 'reserved']);
  expect(await taken(store)).toBe(3);
});

/** The questions of a process that tidies up. */
const rows = {
  query: (text: string, values: readonly unknown[] = []) =>
    server.query(url, text.replaceAll('$1', JSON.stringify(values[0] ?? null))),
};

test('writers that have ended are forgotten, and nobody misses them', async () => {
  const mirror = createMemoryEpochMirror();
  const watching = await open(url, { epochMirror: mirror });
  const ended = await openStore(url, { epochMirror: mirror });
  await ended.reserve(one(1n));
  await watching.reserve(one(2n));
  await ended.stop();
  // The first one is retired since its stop; the other counts as ended without a word after a day.
  for (const _ of ['marked', 'removed']) {
    // It sees the marks, as it does every minute.
    await watching.counters(chainId, [limit]);
    await server.query(url, 'UPDATE usage.writer SET at = at - 90000000, retired_at = retired_at - 90000000');
    await forgetWriters(rows);
  }
  expect(await watching.reserve(one(3n))).toEqual(reserved);
  const [row] = await server.query(url, 'SELECT retired_sequence FROM usage.database');
  expect(Number(row?.['retired_sequence'])).toBeGreaterThan(0);
  await watching.recovery.raise();
  const next = await open(url, { epochMirror: mirror });
  expect(await next.liveCount(chainId)).toBe(3);
});

test('a writer that never wrote is no loss for those who saw it, although two processes tidy up at the same moment', async () => {
  const busy = await open();
  await busy.reserve(one(1n));
  const idle = await open();
  // A refusal writes nothing.
  expect(await idle.reserve({ ...one(9n), limits: [{ ...limit, threshold: 0 }] })).toMatchObject({
    outcome: 'limit',
  });
  await busy.reserve(one(2n));
  await forgetWriters(rows);
  await forgetWriters(rows);
  expect(await busy.reserve(one(3n))).toEqual(reserved);
});

test('data of a format that this release does not know are left alone', async () => {
  const store = await open();
  await store.reserve(one(1n));
  await server.query(url, 'UPDATE usage.database SET format = 2');
  await expect(store.reserve(one(2n))).rejects.toMatchObject({ details: { reason: 'NEWER_VERSION' } });
  await expect(store.counters(chainId, [limit])).rejects.toMatchObject({
    details: { reason: 'NEWER_VERSION' },
  });
});

describe('a standby that becomes the primary', () => {
  test('is a loss when commits did not wait for it: nothing is signed until every promise has expired', async () => {
    const primary = await startPostgres();
    ending.push(primary);
    const at = await primary.createDatabase();
    const standby = await primary.startStandby();
    ending.push(standby);
    const database = new URL(at);
    const mirror = createMemoryEpochMirror();
    const store = await openStore(at, { epochMirror: mirror });
    expect(await store.reserve(one(1n))).toEqual(reserved);
    await store.stop();
    await standby.caughtUp();
    await primary.kill();
    await standby.promote();
    database.port = String(standby.port);
    const after = await open(database.href, { epochMirror: mirror });
    await expect(after.reserve(one(2n))).rejects.toMatchObject(lost);
    expect(await after.recovery.recover(chainId)).toBe('waiting');
  });

  test('loses nothing when every commit waited for it', async () => {
    const primary = await startPostgres();
    ending.push(primary);
    const at = await primary.createDatabase();
    const standby = await primary.startStandby();
    ending.push(standby);
    await primary.waitForStandbys();
    const mirror = createMemoryEpochMirror();
    const store = await openStore(at, { epochMirror: mirror });
    expect(await store.reserve(one(1n))).toEqual(reserved);
    await store.stop();
    await primary.kill();
    await standby.promote();
    const database = new URL(at);
    database.port = String(standby.port);
    const after = await open(database.href, { epochMirror: mirror });
    expect(await after.reserve(one(2n))).toEqual(reserved);
    expect(await after.liveCount(chainId)).toBe(2);
  });

  test('is refused while it is a standby', async () => {
    const primary = await startPostgres();
    ending.push(primary);
    const at = await primary.createDatabase();
    const mirror = createMemoryEpochMirror();
    const first = await openStore(at, { epochMirror: mirror });
    await first.reserve(one(1n));
    await first.stop();
    const standby = await primary.startStandby();
    ending.push(standby);
    await standby.caughtUp();
    const database = new URL(at);
    database.port = String(standby.port);
    await expect(openStore(database.href, { epochMirror: mirror })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
  });
});
