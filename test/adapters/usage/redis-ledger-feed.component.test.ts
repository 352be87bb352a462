import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import type { RedisUsageOptions, RedisUsageStore } from '../../../adapters/usage/redis/usage-options.js';
import { parseRecord } from '../../../core/ledger/record-text.js';
import { gwei } from '../../../core/units/wei.js';
import type { FeedHarness } from '../../conformance/ledger-feed.js';
import { ledgerFeedConformance } from '../../conformance/ledger-feed.js';
import {
  aDigest,
  aHash,
  aKey,
  aLimit,
  aRequest,
  chainId,
  seconds,
} from '../../conformance/usage-requests.js';
import { startRedis, type RedisServer } from '../../support/redis.js';
import { recordsOf } from './added-records.js';
import { aClock } from './clock.js';
import { openStore } from './redis-usage.js';

let server: RedisServer;
let data: Redis;
let stores = 0;
const opened: RedisUsageStore[] = [];

beforeAll(async () => {
  server = await startRedis(['--appendfsync', 'no']);
  data = new Redis(server.url);
});
afterEach(async () => {
  for (const store of opened.splice(0)) await store.stop();
});
afterAll(async () => {
  data.disconnect();
  await server.stop();
});

const clock = aClock();
let consumers = 0;
async function open(keyPrefix: string, ledger: RedisUsageOptions['ledger'] = {}): Promise<RedisUsageStore> {
  const identity = `consumer-${(consumers += 1)}`;
  const store = await openStore(server.url, { keyPrefix, clock, durability: 'none', identity, ledger });
  opened.push(store);
  return store;
}
const aPrefix = () => `feed-${(stores += 1)}:`;
const streamOf = (prefix: string) => `${prefix}{${chainId}}:ledger`;

/** Makes everything that was read and not acknowledged look as if that had been long ago. */
async function makeIdle(stream: string): Promise<void> {
  const pending = (await data.xpending(stream, 'ledger', '-', '+', 10_000).catch(() => [])) as [
    string,
    string,
  ][];
  for (const [id, consumer] of pending)
    await data.call('XCLAIM', stream, 'ledger', consumer, '0', id, 'IDLE', '3600000', 'JUSTID');
}

ledgerFeedConformance('Redis', async (): Promise<FeedHarness> => {
  const prefix = aPrefix();
  const ledger = { budgetBytes: 40_000 };
  let current = await open(prefix, ledger);
  return {
    get store() {
      return current;
    },
    get feed() {
      return current.feed;
    },
    another: async () => (await open(prefix, ledger)).feed,
    killed: async () => {
      current = await open(prefix, ledger);
      await makeIdle(streamOf(prefix));
      return current.feed;
    },
    claimable: () => makeIdle(streamOf(prefix)),
    stop: async () => {},
  };
});

const decision = (n: number, size: number) => ({
  id: `id-${n}`,
  text: JSON.stringify({ organisation: 'acme', filler: 'x'.repeat(size) }),
});
const ask = (n: number, size = 950) =>
  aRequest({ key: { nonce: BigInt(n) }, record: decision(n, size), limits: [aLimit({ threshold: 1_000 })] });
const full = { code: 'UNAVAILABLE', details: { reason: 'LEDGER_FULL' } };
const budgetBytes = 10_000;

test('beyond its room nothing is signed; refusals, settling and releasing go on, and signing does when there is room', async () => {
  const store = await open(aPrefix(), { budgetBytes });
  let reserved = 0;
  for (; reserved < 9; reserved++) await store.reserve(ask(reserved));
  await expect(store.reserve(ask(9))).rejects.toMatchObject(full);
  expect(await store.liveCount(chainId)).toBe(9);
  const refused = aRequest({
    key: { nonce: 50n },
    record: decision(50, 950),
    limits: [aLimit({ threshold: 0 })],
  });
  expect(await store.reserve(refused)).toMatchObject({ outcome: 'limit' });
  // Without a record nothing has to be kept.
  expect(await store.reserve(aRequest({ key: { nonce: 60n } }))).toEqual({ outcome: 'reserved' });

  const step = {
    chainId,
    expected: undefined,
    next: { blockNumber: 1, blockHash: aHash(1), timestamp: seconds(1) },
    settled: [0, 1].map((n) => ({
      key: aKey({ nonce: BigInt(n) }),
      actualCost: gwei(1),
      record: `settled ${n}`,
    })),
    released: [
      { key: aKey({ nonce: 2n }), record: 'released' },
      { key: aKey({ nonce: 60n }), record: 'of a promise without a record' },
    ],
    forfeited: [],
    charges: [],
    restored: [],
    balances: [],
  };
  expect(await store.advance(step)).toMatchObject({ isTaken: true });
  const records = await recordsOf(store.feed);
  expect(records.slice(9).map(({ text }) => text)).toEqual([
    'settled 0',
    'settled 1',
    'released',
    'of a promise without a record',
  ]);
  expect(await store.reserve(ask(9))).toEqual({ outcome: 'reserved' });
});

test('where signing without a record was chosen, the ledger gets the number of promises without one, once', async () => {
  const prefix = aPrefix();
  const store = await open(prefix, { budgetBytes, onFull: 'Sign' });
  for (let n = 0; n < 14; n++) expect(await store.reserve(ask(n))).toEqual({ outcome: 'reserved' });
  const live = await store.reservations(chainId);
  const unrecorded = live.filter(({ recordId }) => recordId === undefined);
  expect(unrecorded).toHaveLength(5);
  // A later record of such a reservation has room again.
  const records = [...(await recordsOf(store.feed)), ...(await recordsOf(store.feed))];
  expect(records.slice(0, 9).map(({ reservation }) => reservation)).toEqual(
    Array.from({ length: 9 }, (_, n) => `id-${n}`),
  );
  expect(records.slice(9).map(({ text }) => parseRecord(text))).toMatchObject([
    { kind: 'gap', cause: 'signed', organisation: 'acme', paymasterId: 'pm-1', chainId, count: 5 },
  ]);
  expect(records).toHaveLength(10);
  expect(await recordsOf((await open(prefix)).feed)).toEqual([]);
  await store.reserve({
    ...ask(13),
    promise: { ...ask(13).promise, digest: aDigest(2) },
    record: decision(99, 9),
  });
  expect(
    await store.reservations(chainId, {
      operations: [aKey({ nonce: 13n })],
      expiredBefore: seconds(0),
      limit: 0,
    }),
  ).toMatchObject([{ recordId: 'id-99' }]);
});

test('the gap of promises whose records have contexts names their organisation', async () => {
  const store = await open(aPrefix(), { budgetBytes: 300, onFull: 'Sign' });
  const asked = (n: number) => {
    const text = JSON.stringify([`id-${n}`, 'x'.repeat(200)]);
    const record = { id: `id-${n}`, context: JSON.stringify(['acme@2', 'pm-1']), text };
    return aRequest({ key: { nonce: BigInt(n) }, record });
  };
  await store.reserve(asked(0));
  await Promise.all([store.reserve(asked(1)), store.reserve(asked(2))]);
  const records = [...(await recordsOf(store.feed)), ...(await recordsOf(store.feed))];
  expect(records).toHaveLength(2);
  expect(records[0]).toEqual({
    reservation: 'id-0',
    context: '["acme@2","pm-1"]',
    text: asked(0).record!.text,
  });
  expect(parseRecord(records[1]!.text)).toMatchObject({ kind: 'gap', organisation: 'acme@2', count: 2 });
});

test('the count of bytes is exact: what was added less what was acknowledged', async () => {
  const prefix = aPrefix();
  const store = await open(prefix);
  for (let n = 0; n < 10; n++) await store.reserve(ask(n, 10 * n));
  await Promise.all(Array.from({ length: 10 }, (_, n) => store.reserve(ask(10 + n, 10 * n))));
  const waiting = await data.xrange(streamOf(prefix), '-', '+');
  const sizeOf = (entries: typeof waiting) =>
    entries.reduce((sum, [, fields]) => sum + Buffer.byteLength(fields[fields.indexOf('t') + 1]!) + 64, 0);
  expect(await store.feed.state()).toMatchObject({ length: waiting.length, bytes: sizeOf(waiting) });
  const read = await store.feed.read(7, 0);
  await store.feed.acknowledge(read);
  await store.feed.acknowledge(read);
  const rest = await data.xrange(streamOf(prefix), '-', '+');
  expect(await store.feed.state()).toMatchObject({
    length: waiting.length - read.length,
    bytes: sizeOf(rest),
  });
});

test('a consumer is forgotten when it has gone, but not with entries that it has not acknowledged', async () => {
  const prefix = aPrefix();
  const ledger = { forgetConsumersAfterMs: 0 };
  const [idle, busy] = [await open(prefix, ledger), await open(prefix, ledger)];
  await idle.reserve(ask(1));
  await idle.feed.acknowledge(await idle.feed.read(1, 0));
  await idle.reserve(ask(2));
  expect(await busy.feed.read(1, 0)).toHaveLength(1);
  const last = await open(prefix, ledger);
  await last.feed.read(1, 0);
  const fields = (await data.call('XINFO', 'CONSUMERS', streamOf(prefix), 'ledger')) as unknown[][];
  const names = fields.map(([, name]) => name);
  expect(names).toContain(`consumer-${consumers - 1}`);
  expect(names).not.toContain(`consumer-${consumers - 2}`);
  await makeIdle(streamOf(prefix));
  expect(await last.feed.read(1, 0)).toHaveLength(1);
});

test('records of several chains are all read, whichever process has added them', async () => {
  const prefix = aPrefix();
  const [writer, reader] = [await open(prefix), await open(prefix)];
  for (const other of [1, 10, 8453])
    await writer.reserve(aRequest({ key: { chainId: other }, record: decision(other, 1) }));
  await writer.feed.offer(137, ['offered']);
  const found = [];
  for (let i = 0; i < 4; i++) found.push(...(await reader.feed.read(1, 0)));
  expect(found.map((entry) => entry.chainId).toSorted((a, b) => a - b)).toEqual([1, 10, 137, 8453]);
  await reader.feed.acknowledge(found);
  expect(await reader.feed.state()).toMatchObject({ length: 0 });
});

test('a reservation still costs one call of Redis, and a stream that was deleted is made again, with all its room', async () => {
  const prefix = aPrefix();
  const store = await open(prefix, { budgetBytes: 20_000 });
  await store.reserve(ask(1));
  const before = await callsOf('evalsha');
  for (let n = 2; n < 12; n++) await store.reserve(ask(n));
  expect((await callsOf('evalsha')) - before).toBe(10);
  await Promise.allSettled(Array.from({ length: 20 }, (_, n) => store.reserve(ask(30 + n))));
  await expect(store.reserve(ask(20))).rejects.toMatchObject(full);
  await data.del(streamOf(prefix));
  expect(await recordsOf(store.feed)).toEqual([]);
  await store.reserve(ask(20));
  expect(await recordsOf(store.feed)).toMatchObject([{ reservation: 'id-20' }]);
});

/** How often clients have sent a command. */
async function callsOf(command: string): Promise<number> {
  const stats = await data.info('commandstats');
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}
