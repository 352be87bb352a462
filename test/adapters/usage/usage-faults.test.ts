import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createSqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import type { SqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import { silentLogger } from '../../../core/log.js';
import type { FollowerStep } from '../../../core/usage/follower-step.js';
import type { EpochMs } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import {
  aDigest,
  aHash,
  aHold,
  aKey,
  aLimit,
  anAddress,
  aNeed,
  anHour,
  aRequest,
  aSpend,
  chainId,
  contract,
  hourMs,
  seconds,
} from '../../conformance/usage-requests.js';
import { aClock } from './clock.js';
import { aDirectory, createFaultyStore } from './sqlite-usage.js';

const unavailable = { code: 'UNAVAILABLE', details: { reason: 'USAGE_STORE_DOWN' } };
const reserved = { outcome: 'reserved' };
/** After commits that failed the store tries nothing for at most so long. */
const retryMs = 30_000;

let directory: ReturnType<typeof aDirectory>;
let clock: ReturnType<typeof aClock>;
let opened: SqliteUsageStore[];
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
const noStep = { settled: [], released: [], forfeited: [], charges: [], restored: [], balances: [] };
const stepTo = (blockNumber: number, change: Partial<FollowerStep> = {}): FollowerStep => ({
  chainId,
  expected: undefined,
  next: { blockNumber, blockHash: aHash(blockNumber), timestamp: seconds(blockNumber) },
  ...noStep,
  ...change,
});

function open(durability: 'process' | 'power' = 'power'): SqliteUsageStore {
  const store = createSqliteUsageStore({ path: path(), clock, log: silentLogger, durability });
  opened.push(store);
  return store;
}

function openFaulty() {
  const faulty = createFaultyStore(path(), clock);
  opened.push(faulty.store);
  return faulty;
}

const spend = (nonce: bigint, cost: number) =>
  aRequest({
    key: { nonce },
    promise: { digest: aDigest(cost) },
    limits: [aSpend(cost), aLimit({ counter: 'new' })],
    holds: [aHold(cost)],
    accounts: [aNeed(cost)],
  });
const balance = () => ({ contract, balance: gwei(1000), reserved: gwei(0), readAt: clock.now() });

describe('one commit for requests of several turns of the event loop', () => {
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
  /** The number of the last write, as another connection sees it. */
  const written = (): number => {
    const file = new DatabaseSync(path(), { readOnly: true });
    const [row] = file.prepare('SELECT sequence FROM usage_chains').all();
    file.close();
    return Number(row?.['sequence']);
  };

  test('while each turn brings more, at most four wait, and all are answered after the commit', async () => {
    const store = open();
    await store.addBalance(chainId, balance());
    const before = written();
    const answers: number[] = [];
    const ask = (nonce: number): void =>
      void store.reserve(spend(BigInt(nonce), 1)).then(() => answers.push(nonce));
    ask(0);
    for (let nonce = 1; answers.length === 0 && nonce < 100; nonce++) {
      ask(nonce);
      expect(written()).toBe(before);
      await nextTurn();
    }
    expect(written()).toBe(before + 1);
    expect(answers).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test('a request alone does not wait for another turn', async () => {
    const store = open();
    await store.addBalance(chainId, balance());
    const before = written();
    void store.reserve(spend(1n, 1));
    await nextTurn();
    expect(written()).toBe(before + 1);
  });
});

describe('when a commit fails', () => {
  test.each(['before', 'after'] as const)(
    'every reservation of its turn is refused as unavailable, and what stands is what the file says (failing %s the commit)',
    async (when) => {
      const { store, fail, repair } = openFaulty();
      await store.addBalance(chainId, balance());
      expect(await store.reserve(spend(1n, 10))).toEqual(reserved);
      const before = await store.reservations(chainId);
      fail(when);
      const turn = [spend(1n, 60), spend(2n, 20), spend(2n, 30), spend(3n, 70)].map((one) =>
        store.reserve(one),
      );
      for (const answer of turn.slice(0, 3)) await expect(answer).rejects.toMatchObject(unavailable);
      // Did not fit beside the others, which promises nothing.
      expect(await turn[3]).toMatchObject({ outcome: 'limit' });
      const isWritten = when === 'after';
      const after = await store.reservations(chainId);
      if (!isWritten) expect(after).toEqual(before);
      expect(after.map(({ limits }) => limits[0]?.cost)).toEqual(isWritten ? [60, 30] : [10]);
      const held = isWritten ? 90 : 10;
      expect(await store.counters(chainId, [aSpend(0), aHold(0)])).toEqual([
        { used: 0, reserved: held },
        { used: 0, reserved: held },
      ]);
      expect(await store.accounts(chainId)).toMatchObject([{ reserved: held }]);
      repair();
      expect(await store.reserve(spend(4n, 100 - held))).toEqual(reserved);
      expect(await store.reserve(spend(5n, 1))).toMatchObject({ outcome: 'limit', used: 100 });
      const standing = await store.reservations(chainId);
      await store.stop();
      expect(await open().reservations(chainId)).toEqual(standing);
    },
  );

  test('the next attempt waits for a second, and refusals are answered from memory after it', async () => {
    const { store, fail, stopFailing, repair } = openFaulty();
    await store.reserve(aRequest());
    fail('before');
    await expect(store.reserve(aRequest({ key: { nonce: 1n } }))).rejects.toMatchObject(unavailable);
    stopFailing();
    await expect(store.reserve(aRequest({ key: { nonce: 1n } }))).rejects.toMatchObject(unavailable);
    await expect(store.ping()).rejects.toMatchObject(unavailable);
    expect((await store.peek(aRequest({ limits: [aLimit({ threshold: 0 })] }))).result).toMatchObject({
      outcome: 'limit',
    });
    repair();
    await store.ping();
    expect(await store.reserve(aRequest({ key: { nonce: 1n } }))).toEqual(reserved);
  });

  test('a turn in which everything is refused writes nothing, so it does not depend on writing', async () => {
    const { store, fail } = openFaulty();
    await store.reserve(aRequest());
    fail('before');
    const full = (nonce: bigint) => aRequest({ key: { nonce }, limits: [aLimit({ threshold: 0 })] });
    for (const first of [1n, 3n]) {
      const answers = await Promise.all([store.reserve(full(first)), store.reserve(full(first + 1n))]);
      expect(answers).toMatchObject([{ outcome: 'limit' }, { outcome: 'limit' }]);
    }
  });

  test('a store that still fails after that second refuses without deciding', async () => {
    const { store, fail } = openFaulty();
    await store.reserve(aRequest());
    fail('before');
    for (let attempt = 0; attempt < 3; attempt++) {
      await expect(store.reserve(aRequest({ key: { nonce: 1n } }))).rejects.toMatchObject(unavailable);
      clock.advance(retryMs);
    }
    expect(await store.liveCount(chainId)).toBe(1);
  });

  test('a step of the follower, a suspension and a funding message are not taken', async () => {
    const { store, fail, repair } = openFaulty();
    const { texts } = store;
    await store.reserve(aRequest());
    await texts.putText('pm-1', 'first', (clock.now() + 900_000) as EpochMs);
    const step = stepTo(1, { released: [{ key: aKey() }] });
    for (const call of [
      () => store.advance(step),
      () => store.setSuspended(chainId, 'pm-1', true),
      () => store.noteGenerations(chainId, [{ id: 'pm-1', generation: 9 }]),
      () => texts.putText('pm-1', 'second', clock.now()),
      () => texts.takeText('pm-1', 'first'),
    ]) {
      fail('before');
      await expect(call()).rejects.toMatchObject(unavailable);
      repair();
      await store.ping();
    }
    expect(await store.reservations(chainId)).toHaveLength(1);
    expect(await store.cursor(chainId)).toBeUndefined();
    expect(await store.suspended(chainId)).toEqual([]);
    expect(await texts.getText('pm-1')).toBe('first');
    expect(await store.reserve(aRequest({ key: { nonce: 1n } }))).toEqual(reserved);
    expect(await store.advance(step)).toMatchObject({ isTaken: true });
    expect(await texts.takeText('pm-1', 'first')).toBe(true);
  });

  test('on a full disk reservations are refused, others end, and what ends makes room', async () => {
    const { store, db } = openFaulty();
    await store.reserve(aRequest());
    const pages = Number(db.sql.prepare('PRAGMA page_count').get()?.['page_count']);
    db.sql.exec(`PRAGMA max_page_count = ${pages + 4}`);
    const passed: bigint[] = [];
    for (let nonce = 1n; nonce < 200n; nonce++) {
      const answer = await store.reserve(aRequest({ key: { nonce } })).catch(() => undefined);
      if (answer === undefined) break;
      passed.push(nonce);
    }
    expect(passed.length).toBeGreaterThan(5);
    expect(passed.length).toBeLessThan(150);
    expect(await store.liveCount(chainId)).toBe(passed.length + 1);
    clock.advance(retryMs);
    const released = passed.map((nonce) => ({ key: aKey({ nonce }) }));
    expect(await store.advance(stepTo(1, { released }))).toMatchObject({ isTaken: true });
    // A step that finds no room is not kept, and with it none before it.
    expect(await store.takenSteps(chainId)).toEqual([]);
    expect(await store.reserve(aRequest({ key: { nonce: 500n } }))).toEqual(reserved);
    await store.stop();
    expect((await open().reservations(chainId)).map(({ key }) => key.nonce)).toEqual([0n, 500n]);
  });

  test('a file that cannot even be read again makes the store unavailable, not empty', async () => {
    const { store, db } = openFaulty();
    await store.reserve(aRequest());
    db.close();
    await expect(store.reserve(aRequest({ key: { nonce: 1n } }))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
    for (const call of [
      () => store.reserve(aRequest()),
      () => store.peek(aRequest()),
      () => store.reservations(chainId),
      () => store.counters(chainId, [aLimit()]),
      () => store.ping(),
    ])
      await expect(call()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
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

test('a file of a newer release is refused', async () => {
  await open().stop();
  const db = new DatabaseSync(path());
  db.exec("UPDATE components SET version = 99 WHERE component = 'usage'");
  db.close();
  expect(() => open()).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
});

describe('what is kept', () => {
  const perSender = (n: number) =>
    aRequest({
      key: { sender: anAddress(n) },
      limits: [
        aLimit({ counter: `each/${anAddress(n)}`, threshold: 5 }),
        aLimit({ counter: 'all', threshold: 1e9 }),
      ],
    });
  const rowsIn = (table: string) => {
    const db = new DatabaseSync(path());
    const count = Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n']);
    db.close();
    return count;
  };

  const charactersOfSteps = () => {
    const db = new DatabaseSync(path());
    const sum = db.prepare('SELECT total(length(step)) AS n FROM usage_taken_steps').get()?.['n'];
    db.close();
    return Number(sum);
  };

  test('files stay small under reservations that come and go', async () => {
    const store = open('process');
    let expected: FollowerStep['next'] | undefined;
    for (let round = 1; round <= 60; round++) {
      const numbers = Array.from({ length: 50 }, (_, i) => round * 100 + i);
      await Promise.all(numbers.map((n) => store.reserve(perSender(n))));
      const released = numbers.map((n) => ({ key: aKey({ sender: anAddress(n) }) }));
      const step = stepTo(round, { expected, released });
      expect(await store.advance(step)).toMatchObject({ isTaken: true });
      expected = step.next;
    }
    await store.stop();
    const bytes = readdirSync(directory.path).reduce(
      (sum, file) => sum + statSync(join(directory.path, file)).size,
      0,
    );
    // Written in all: 3000 reservations, more than 1.5 MB; and again in the last steps, whose number is bounded.
    expect(bytes - charactersOfSteps()).toBeLessThan(600_000);
    expect(rowsIn('usage_reservations')).toBe(0);
  });

  test('settled use of a window is kept for as long as the window lasts and forgotten after it', async () => {
    const store = open();
    for (let n = 1; n <= 50; n++) await store.reserve(perSender(n));
    const settled = (await store.reservations(chainId)).map(({ key }) => ({ key, actualCost: gwei(1) }));
    await store.advance(stepTo(1, { settled }));
    clock.advance(hourMs - 1);
    await store.reserve(aRequest({ key: { nonce: 5n } }));
    expect((await store.peek(perSender(7))).limits).toEqual([
      { used: 1, reserved: 0 },
      { used: 50, reserved: 0 },
    ]);
    clock.advance(2 * hourMs);
    // Forgotten with the next commit, and gone from the file with the one after it.
    await store.reserve(aRequest({ key: { nonce: 6n } }));
    await new Promise(setImmediate);
    await store.stop();
    expect(rowsIn('usage_counters')).toBe(0);
  });

  test('settled use of a window that became longer is kept as long, also over a restart and when nothing holds it', async () => {
    const store = open();
    await store.reserve(perSender(1));
    const key = aKey({ sender: anAddress(1) });
    const first = stepTo(1, { settled: [{ key, actualCost: gwei(1) }] });
    await store.advance(first);
    const longer = {
      ...perSender(1),
      limits: perSender(1).limits.map((limit) => {
        const { from, until } = limit.window;
        return { ...limit, window: { from, until: (until + 10 * hourMs) as EpochMs } };
      }),
    };
    expect(await store.reserve(longer)).toEqual(reserved);
    await store.advance(stepTo(2, { expected: first.next, released: [{ key }] }));
    await store.stop();
    const again = open();
    clock.advance(4 * hourMs);
    await again.reserve(aRequest({ key: { nonce: 5n } }));
    await new Promise(setImmediate);
    expect((await again.peek(longer)).limits).toEqual([
      { used: 1, reserved: 0 },
      { used: 1, reserved: 0 },
    ]);
  });

  test('with a clock that is set back to a forgotten window its use is unknown, and nothing passes on it', async () => {
    const store = open();
    await store.reserve(perSender(1));
    const key = aKey({ sender: anAddress(1) });
    await store.advance(stepTo(1, { settled: [{ key, actualCost: gwei(1) }] }));
    clock.advance(3 * hourMs);
    await store.reserve(aRequest({ key: { nonce: 7n } }));
    await new Promise(setImmediate);
    clock.advance(-3 * hourMs);
    expect(await store.reserve(perSender(1))).toEqual({ outcome: 'usage-lost', index: 0 });
    const shadow = perSender(1).limits.map((limit) => ({ ...limit, enforce: false }));
    expect(await store.reserve({ ...perSender(1), limits: shadow })).toEqual(reserved);
    clock.advance(3 * hourMs);
    const later = perSender(1).limits.map((limit) => ({ ...limit, window: anHour(3) }));
    expect(await store.reserve({ ...perSender(1), limits: later })).toEqual(reserved);
  });

  test('a generation is forgotten when nobody has named it for thirty days, a suspension never', async () => {
    const store = open();
    const dayMs = 24 * hourMs;
    await store.noteGenerations(chainId, [
      { id: 'pm-1', generation: 5 },
      { id: 'pm-2', generation: 5 },
    ]);
    await store.setSuspended(chainId, 'pm-3', true);
    const old = (paymasterId: string) => aRequest({ key: { paymasterId }, generation: 4 });
    for (let day = 1; day <= 31; day++) {
      clock.advance(dayMs + 1);
      await store.noteGenerations(chainId, [{ id: 'pm-2', generation: 5 }]);
      await new Promise(setImmediate);
    }
    expect((await store.peek(old('pm-2'))).result).toEqual({ outcome: 'stale', id: 'pm-2' });
    expect((await store.peek(old('pm-1'))).result).toEqual(reserved);
    expect(await store.suspended(chainId)).toEqual(['pm-3']);
    await store.stop();
    expect(rowsIn('usage_fences')).toBe(2);
  });
});
