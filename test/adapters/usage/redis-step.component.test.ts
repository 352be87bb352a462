import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { mostEndings } from '../../../adapters/usage/redis/advance.js';
import { chainKeys, operationName } from '../../../adapters/usage/redis/keys.js';
import { gwei } from '../../../core/units/wei.js';
import type { Cursor, FollowerStep, UsageStore } from '../../../core/usage/usage-store.js';
import {
  aDigest,
  aHash,
  aHold,
  aKey,
  anHour,
  aRequest,
  aSpend,
  chainId,
  seconds,
} from '../../conformance/usage-requests.js';
import { startRedis, type RedisServer } from '../../support/redis.js';
import { recordsOf } from './added-records.js';
import { aClock } from './clock.js';
import { openStore } from './redis-usage.js';

let server: RedisServer;
let stores = 0;
const mostRunning = 256;

beforeAll(async () => {
  server = await startRedis(['--appendfsync', 'no']);
});
afterAll(() => server.stop());

const open = () => {
  stores += 1;
  return openStore(server.url, {
    keyPrefix: `step-${stores}:`,
    durability: 'none',
    clock: aClock(),
  });
};
const spend = (round: number) =>
  aSpend(1 + (round % 7), { counter: `spend-${round % 3}`, threshold: 1e9, window: anHour() });
const ask = (nonce: number, round: number) =>
  aRequest({
    key: { nonce: BigInt(nonce) },
    // Another counter from time to time, as when a window turns: the step cannot know it beforehand.
    limits: [spend(round)],
    holds: [aHold(1, { threshold: 1e9 })],
    promise: { digest: aDigest(1 + round), validUntil: seconds(300 + round) },
  });

/** The first request of an operation, with its record. */
const recorded = (nonce: number) => ({
  ...ask(nonce, 0),
  record: { id: `id-${nonce}`, text: `decision ${nonce}` },
});

function aStep(expected: Cursor | undefined, change: Partial<FollowerStep>): FollowerStep {
  const blockNumber = (expected?.blockNumber ?? 0) + 1;
  return {
    chainId,
    expected,
    next: { blockNumber, blockHash: aHash(blockNumber), timestamp: seconds(blockNumber) },
    settled: [],
    released: [],
    forfeited: [],
    charges: [],
    restored: [],
    balances: [],
    ...change,
  };
}

/**
 * Asks for the operations in turn until it is stopped, `perSecond` of them or as many as the machine manages.
 */
function askInALoop(
  store: UsageStore,
  operations: number,
  perSecond: number,
): { asked(): number; stop(): Promise<void> } {
  let asked = 0;
  const running = new Set<Promise<unknown>>();
  const begun = performance.now();
  const timer = setInterval(() => {
    const due = ((performance.now() - begun) * perSecond) / 1000;
    for (; asked < due && running.size < mostRunning; asked++) {
      const one = store.reserve(ask(asked % operations, Math.floor(asked / operations) + 1));
      running.add(one);
      void one.finally(() => running.delete(one)).catch(() => {});
    }
  }, 1);
  return {
    asked: () => asked,
    async stop() {
      clearInterval(timer);
      await Promise.all(running);
    },
  };
}

const expectConsistent = async (store: UsageStore) => {
  const live = await store.reservations(chainId);
  for (const round of [0, 1, 2]) {
    const counter = spend(round);
    const [state] = await store.counters(chainId, [counter]);
    const held = live.flatMap(({ limits }) => limits.filter((limit) => limit.counter === counter.counter));
    expect(state?.reserved).toBe(held.reduce((sum, { cost }) => sum + cost, 0));
  }
  const [hold] = await store.counters(chainId, [aHold(0)]);
  expect(hold).toEqual({ used: 0, reserved: live.length });
};

test('while 500 operations are asked for again 4,000 times a second, every step that settles them succeeds', async () => {
  const store = await open();
  const operations = 500;
  const keys = Array.from({ length: operations }, (_, nonce) => aKey({ nonce: BigInt(nonce) }));
  for (const { nonce } of keys) await store.reserve(ask(Number(nonce), 0));
  const asking = askInALoop(store, operations, 4_000);
  let cursor: Cursor | undefined;
  const steps = 20;
  try {
    for (let i = 0; i < steps || asking.asked() <= operations; i++) {
      const step = aStep(cursor, { settled: keys.map((key) => ({ key, actualCost: gwei(1) })) });
      expect(await store.advance(step)).toMatchObject({ isTaken: true });
      cursor = step.next;
      expect(await store.cursor(chainId)).toEqual(cursor);
    }
  } finally {
    await asking.stop();
  }
  await expectConsistent(store);
  await store.stop();
}, 300_000);

test('a long step that is broken off is carried on by whichever process comes next, charges once and records once', async () => {
  const keyPrefix = `broken-${(stores += 1)}:`;
  const clock = aClock();
  const settings = { keyPrefix, clock, durability: 'none' } as const;
  const first = await openStore(server.url, settings);
  const operations = 2 * mostEndings + 1;
  const keys = Array.from({ length: operations }, (_, nonce) => aKey({ nonce: BigInt(nonce) }));
  await Promise.all(keys.map(({ nonce }) => first.reserve(recorded(Number(nonce)))));
  const loss = { counter: 'loss', unit: 'NATIVE_ASSET', until: anHour().until } as const;
  await recordsOf(first.feed);
  const step = aStep(undefined, {
    settled: keys.map((key) => ({ key, actualCost: gwei(1), record: `settled ${key.nonce}` })),
    restoredRecords: [{ recordId: 'id-0', text: 'taken back' }],
    charges: [
      { ...loss, amount: 7 },
      { ...loss, amount: -2 },
    ],
  });
  // The last operation cannot be read, so the step fails after a part of it was written.
  const broken = `${chainKeys(keyPrefix, chainId, '').prefix}o:${operationName(keys.at(-1)!)}`;
  await server.command(['RENAME', broken, 'kept']);
  await server.command(['SET', broken, 'broken']);
  await expect(first.advance(step)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await first.liveCount(chainId)).toBe(1);
  await first.stop();
  await server.command(['RENAME', 'kept', broken]);

  const watching = await openStore(server.url, settings);
  expect(await watching.cursor(chainId)).toEqual(step.next);
  expect(await watching.liveCount(chainId)).toBe(0);
  expect(await watching.counters(chainId, [loss, spend(0)])).toEqual([
    { used: 5, reserved: 0 },
    { used: operations, reserved: 0 },
  ]);
  expect(await watching.advance(step)).toEqual({ isTaken: false });
  const [kept, ...others] = await watching.takenSteps(chainId);
  expect(new Set(kept?.ended.map(({ reservation }) => reservation.key))).toEqual(new Set(keys));
  expect(kept?.charges).toEqual(step.charges);
  expect(others).toEqual([]);
  expect(await recordsOf(watching.feed)).toEqual([
    { reservation: 'id-0', text: 'taken back' },
    ...keys.map(({ nonce }) => ({ reservation: `id-${nonce}`, text: `settled ${nonce}` })),
  ]);
  await watching.stop();
}, 300_000);

test('while memory is scarce no step is kept, so that what settles frees memory', async () => {
  const other = await startRedis(['--appendfsync', 'no']);
  const small = await openStore(other.url, { keyPrefix: 'scarce:', durability: 'none', clock: aClock() });
  const used = async () => Number(/used_memory:(\d+)/.exec(await other.command(['INFO', 'memory']))?.[1]);
  const bound = (bytes: number) => other.command(['CONFIG', 'SET', 'maxmemory', String(Math.ceil(bytes))]);
  const operations = mostEndings + 1;
  const keys = Array.from({ length: operations }, (_, nonce) => aKey({ nonce: BigInt(nonce) }));
  await Promise.all(keys.map(({ nonce }) => small.reserve(ask(Number(nonce), 0))));
  const kept = aStep(undefined, {
    charges: [{ counter: 'loss', unit: 'NATIVE_ASSET', until: anHour().until, amount: 7 }],
  });
  await small.advance(kept);
  expect(await small.takenSteps(chainId)).toHaveLength(1);

  await bound((await used()) / 2);
  const full = await used();
  const scarce = aStep(kept.next, { settled: keys.map((key) => ({ key, actualCost: gwei(1) })) });
  expect(await small.advance(scarce)).toMatchObject({ isTaken: true });
  expect(await small.takenSteps(chainId)).toEqual([]);
  expect(await used()).toBeLessThan(full - operations * 200);

  await bound(2 * (await used()));
  const next = aStep(scarce.next, {});
  await small.advance(next);
  expect(await small.takenSteps(chainId)).toMatchObject([{ next: next.next }]);
  await small.stop();
  await other.stop();
}, 300_000);

test('a long step that begins while memory is scarce is not kept in part', async () => {
  const keyPrefix = `scarce-${(stores += 1)}:`;
  const settings = { keyPrefix, clock: aClock(), durability: 'none' } as const;
  const first = await openStore(server.url, settings);
  const keys = Array.from({ length: 2 * mostEndings }, (_, nonce) => aKey({ nonce: BigInt(nonce) }));
  await Promise.all(keys.map(({ nonce }) => first.reserve(ask(Number(nonce), 0))));
  const step = aStep(undefined, { settled: keys.map((key) => ({ key, actualCost: gwei(1) })) });
  // The last operation cannot be read, so the step fails after a part of it was written.
  const broken = `${chainKeys(keyPrefix, chainId, '').prefix}o:${operationName(keys.at(-1)!)}`;
  await server.command(['RENAME', broken, 'kept']);
  await server.command(['SET', broken, 'broken']);
  await server.command(['CONFIG', 'SET', 'maxmemory', '1']);
  try {
    await expect(first.advance(step)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  } finally {
    await server.command(['CONFIG', 'SET', 'maxmemory', '0']);
  }
  await first.stop();
  await server.command(['RENAME', 'kept', broken]);

  const second = await openStore(server.url, settings);
  expect(await second.cursor(chainId)).toEqual(step.next);
  expect(await second.liveCount(chainId)).toBe(0);
  expect(await second.takenSteps(chainId)).toEqual([]);
  await second.stop();
}, 300_000);

test('of a long step that another process carries on meanwhile only one knows what it has ended, and all of it', async () => {
  const settings = { keyPrefix: `shared-${(stores += 1)}:`, clock: aClock(), durability: 'none' } as const;
  const first = await openStore(server.url, settings);
  const second = await openStore(server.url, settings);
  const operations = 4 * mostEndings;
  const keys = Array.from({ length: operations }, (_, nonce) => aKey({ nonce: BigInt(nonce) }));
  await Promise.all(keys.map(({ nonce }) => first.reserve(recorded(Number(nonce)))));
  await recordsOf(first.feed);
  const settled = keys.map((key) => ({ key, actualCost: gwei(1), record: `settled ${key.nonce}` }));
  const step = aStep(undefined, { settled });
  let isDone = false;
  const taking = first.advance(step).finally(() => {
    isDone = true;
  });
  while (!isDone) await second.cursor(chainId);
  const result = await taking;
  expect(await second.cursor(chainId)).toEqual(step.next);
  expect(await second.counters(chainId, [spend(0)])).toEqual([{ used: operations, reserved: 0 }]);
  expect(result.isTaken ? result.ended.length : operations).toBe(operations);
  const texts = (await recordsOf(second.feed)).map(({ text }) => text);
  expect(texts).toHaveLength(operations);
  expect(new Set(texts)).toEqual(new Set(settled.map(({ record }) => record)));
  await Promise.all([first.stop(), second.stop()]);
}, 300_000);
