import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { DatabaseSync } from 'node:sqlite';
import { createSqliteUsageStore } from '../../core/adapters/store/sqlite/usage.js';
import { silentLogger } from '../../core/log.js';
import type { UsageStore } from '../../core/policy/usage-store.js';
import type { EpochMs } from '../../core/units/time.js';
import { gwei } from '../../core/units/wei.js';
import {
  aHash,
  aKey,
  aLimit,
  anAddress,
  aNeed,
  aRequest,
  chainId,
  contract,
  hourMs,
  seconds,
  startMs,
} from '../conformance/usage-requests.js';
import { aClock, aDirectory, createFaultyStore } from './sqlite-usage.js';

const unavailable = { code: 'UNAVAILABLE', details: { reason: 'USAGE_STORE_DOWN' } };
const reserved = { outcome: 'reserved' };

let directory: ReturnType<typeof aDirectory>;
let clock: ReturnType<typeof aClock>;
let opened: UsageStore[];
beforeEach(() => {
  directory = aDirectory();
  clock = aClock();
  opened = [];
});
afterEach(async () => {
  for (const store of opened) await store.stop();
  directory.remove();
});

const path = () => join(directory.path, 'usage.db');
function open(compactAtBytes = 1 << 22): UsageStore {
  const store = createSqliteUsageStore({
    path: path(),
    clock,
    log: silentLogger,
    durability: 'power',
    compactAtBytes,
  });
  opened.push(store);
  return store;
}
function openFaulty() {
  const faulty = createFaultyStore(path(), clock);
  opened.push(faulty.store);
  return faulty;
}

describe('when a commit fails', () => {
  const spend = (nonce: bigint, cost: number) =>
    aRequest({
      key: { nonce },
      limits: [aLimit({ unit: 'NATIVE_ASSET', threshold: 100, cost }), aLimit({ policyId: 'new' })],
      accounts: [aNeed(cost)],
    });

  test.each(['before', 'after'] as const)(
    'every reservation of its turn is refused as unavailable and nothing of it stays (failing %s the write)',
    async (when) => {
      const { store, fail } = openFaulty();
      await store.addBalance(chainId, {
        contract,
        balance: gwei(1000),
        reserved: gwei(0),
        readAt: clock.now(),
      });
      expect(await store.reserve(spend(1n, 10))).toEqual(reserved);
      const before = await store.reservations(chainId);
      fail(when);
      const turn = [spend(1n, 60), spend(2n, 20), spend(2n, 30), spend(1n, 70)].map((one) =>
        store.reserve(one),
      );
      for (const answer of turn) await expect(answer).rejects.toMatchObject(unavailable);
      expect(await store.reservations(chainId)).toEqual(before);
      const { limits, accounts } = await store.peek(spend(9n, 1));
      expect(limits).toMatchObject([{ used: 10 }, { used: 1 }]);
      expect(accounts).toMatchObject([{ reserved: 10 }]);

      fail('no');
      expect(await store.reserve(spend(3n, 90))).toEqual(reserved);
      expect(await store.reserve(spend(4n, 1))).toMatchObject({ outcome: 'limit', used: 100 });
      await store.stop();
      const { limits: after } = await open().peek(spend(9n, 1));
      // A row that was written although its commit was reported as failed may count too much, never too little.
      expect(after[0]!.used).toBeGreaterThanOrEqual(100);
      if (when === 'before') expect(after[0]!.used).toBe(100);
    },
  );

  test('a refusal is still answered, since it promises nothing', async () => {
    const { store, fail } = openFaulty();
    fail('before');
    expect(await store.reserve(aRequest({ limits: [aLimit({ threshold: 0 })] }))).toMatchObject({
      outcome: 'limit',
    });
  });

  test('a step of the follower and a funding message are not taken', async () => {
    const { store, fail } = openFaulty();
    await store.reserve(aRequest());
    await store.putFundingMessage('pm-1', 'first', (clock.now() + 1000) as EpochMs);
    fail('before');
    const next = { blockNumber: 1, blockHash: aHash(1), timestamp: seconds(1) };
    const released = [{ key: aKey(), validUntil: seconds(300) }];
    const step = { chainId, expected: undefined, next, settled: [], released, balances: [] };
    await expect(store.advance(step)).rejects.toMatchObject(unavailable);
    await expect(store.putFundingMessage('pm-1', 'second', clock.now())).rejects.toMatchObject(unavailable);
    await expect(store.consumeFundingMessage('pm-1', 'first')).rejects.toMatchObject(unavailable);
    expect(await store.reservations(chainId)).toHaveLength(1);
    expect(await store.getFundingMessage('pm-1')).toBe('first');
    fail('no');
    expect(await store.advance(step)).toBe(true);
    expect(await store.consumeFundingMessage('pm-1', 'first')).toBe(true);
  });

  test('names of the failed row are written again with the next one', async () => {
    const { store, fail } = openFaulty();
    fail('before');
    await expect(store.reserve(aRequest({ limits: [aLimit()] }))).rejects.toMatchObject(unavailable);
    fail('no');
    expect(await store.reserve(aRequest({ limits: [aLimit()] }))).toEqual(reserved);
    await store.stop();
    expect(await open().reservations(chainId)).toMatchObject([{ key: aKey(), limits: [{ cost: 1 }] }]);
  });
});

test('a file that was closed under the store makes it unavailable, for pings too', async () => {
  const { store, journal } = openFaulty();
  journal.close();
  await expect(store.reserve(aRequest())).rejects.toMatchObject(unavailable);
  await expect(store.ping()).rejects.toMatchObject(unavailable);
});

test('a second store on the same file is refused while the first one lives', async () => {
  const first = open();
  await first.reserve(aRequest());
  expect(() => open()).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
  await first.stop();
  expect(await open().reservations(chainId)).toHaveLength(1);
});

test('only its owner may read the file', async () => {
  await open().reserve(aRequest());
  for (const file of readdirSync(directory.path))
    expect(statSync(join(directory.path, file)).mode & 0o777).toBe(0o600);
});

test('a file of another format is refused', async () => {
  await open().stop();
  const db = new DatabaseSync(path());
  db.exec("UPDATE meta SET value = 99 WHERE key = 'format'");
  db.close();
  expect(() => open()).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
});

describe('what is kept', () => {
  const perSender = (n: number) =>
    aRequest({
      key: { sender: anAddress(n) },
      limits: [aLimit({ subject: anAddress(n), threshold: 5 }), aLimit({ policyId: 'all', threshold: 1e9 })],
      validUntil: seconds(300),
    });

  test('the file stays small under reservations that come and go', async () => {
    const store = open(20_000);
    let cursor = await store.cursor(chainId);
    for (let round = 1; round <= 150; round++) {
      await Promise.all(Array.from({ length: 20 }, (_, i) => store.reserve(perSender(round * 100 + i))));
      const found = await store.reservations(chainId);
      const next = { blockNumber: round, blockHash: aHash(round), timestamp: seconds(round) };
      const released = found.map(({ key, validUntil }) => ({ key, validUntil }));
      expect(
        await store.advance({ chainId, expected: cursor, next, settled: [], released, balances: [] }),
      ).toBe(true);
      cursor = next;
    }
    await store.reserve(perSender(1));
    await store.stop();
    const db = new DatabaseSync(path());
    const bytes = Number(
      db
        .prepare('SELECT (SELECT sum(length(ops)) FROM journal) + (SELECT sum(length(ops)) FROM image) AS n')
        .get()?.['n'],
    );
    db.close();
    // Written in all: 3000 reservations and releases, more than 400 kB.
    expect(bytes).toBeLessThan(100_000);
    expect(await open().reservations(chainId)).toHaveLength(1);
  });

  test('settled use of a window is kept for as long as the window lasts and forgotten after it', async () => {
    const store = open(1);
    const windows = () => {
      const db = new DatabaseSync(path(), { readOnly: true });
      const text = db
        .prepare(
          'SELECT group_concat(ops) AS text FROM (SELECT ops FROM image UNION ALL SELECT ops FROM journal)',
        )
        .get()?.['text'];
      db.close();
      return [...String(text).matchAll(/\["w",/g)].length;
    };
    for (let n = 1; n <= 50; n++) await store.reserve(perSender(n));
    let cursor = await store.cursor(chainId);
    const settled = (await store.reservations(chainId)).map(({ key }) => ({ key, actualCost: gwei(1) }));
    const next = { blockNumber: 1, blockHash: aHash(1), timestamp: seconds(1) };
    await store.advance({ chainId, expected: cursor, next, settled, released: [], balances: [] });
    cursor = next;
    clock.advance(hourMs - 1);
    await store.reserve(aRequest({ key: { nonce: 5n } }));
    expect((await store.peek(perSender(7))).limits).toMatchObject([{ used: 1 }, { used: 50 }]);

    clock.advance(2 * hourMs);
    for (let i = 0; i < 40; i++) {
      await store.reserve(aRequest({ key: { nonce: BigInt(100 + i) } }));
      await new Promise(setImmediate);
    }
    await store.stop();
    expect(windows()).toBe(0);
  });

  test('with a clock that is set back to a forgotten window its use is unknown, and nothing passes on it', async () => {
    const store = open();
    await store.reserve(perSender(1));
    const released = [{ key: aKey({ sender: anAddress(1) }), validUntil: seconds(300) }];
    const next = { blockNumber: 1, blockHash: aHash(1), timestamp: seconds(1) };
    await store.advance({ chainId, expected: undefined, next, settled: [], released, balances: [] });
    clock.advance(3 * hourMs);
    // Windows are forgotten after a commit, in turns of the event loop of their own.
    for (const nonce of [7n, 8n]) {
      await store.reserve(aRequest({ key: { nonce } }));
      for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
    }
    clock.advance(-3 * hourMs);
    expect(await store.reserve(perSender(1))).toEqual({
      outcome: 'usage-lost',
      index: 0,
      resetsAt: startMs + hourMs,
    });
    const { limits } = perSender(1);
    const lenient = limits.map((limit) => ({ ...limit, startsOverWhenLost: true as const }));
    expect(await store.reserve({ ...perSender(1), limits: lenient })).toEqual(reserved);
    clock.advance(3 * hourMs);
    expect(await store.reserve(perSender(1))).toEqual(reserved);
  });

  test('a forgotten window that a longer cycle asks for again is a new one, which a restart finds', async () => {
    const store = open(1);
    await store.reserve(perSender(1));
    // Promised again, so that the store has found the window once and not only made it.
    await store.reserve(perSender(1));
    const released = [{ key: aKey({ sender: anAddress(1) }), validUntil: seconds(300) }];
    const next = { blockNumber: 1, blockHash: aHash(1), timestamp: seconds(1) };
    await store.advance({ chainId, expected: undefined, next, settled: [], released, balances: [] });
    clock.advance(3 * hourMs);
    // Each turn writes a piece of an image, so that images follow each other.
    const writeImages = async (firstNonce: number) => {
      for (let n = 0; n < 40; n++) {
        await store.reserve(aRequest({ key: { nonce: BigInt(firstNonce + n) }, limits: [] }));
        await new Promise(setImmediate);
      }
    };
    await writeImages(100);

    const longer = aRequest({
      key: { sender: anAddress(1) },
      limits: [aLimit({ subject: anAddress(1), threshold: 1, durationMs: 100 * hourMs })],
    });
    expect(await store.reserve(longer)).toEqual(reserved);
    await writeImages(200);
    await store.stop();
    const { limits } = await open().peek({ ...longer, key: aKey({ sender: anAddress(1), nonce: 99n }) });
    expect(limits).toMatchObject([{ used: 1, window: 0 }]);
  });
});
