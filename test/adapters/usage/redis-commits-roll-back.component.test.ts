import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createFileEpochMirror } from '../../../adapters/usage/file-epoch-mirror.js';
import type { RedisUsageStore } from '../../../adapters/usage/redis/usage-options.js';
import { gwei } from '../../../core/units/wei.js';
import type { ReserveRequest, ReserveResult } from '../../../core/usage/usage-store.js';
import {
  aDigest,
  aHash,
  aHold,
  aNeed,
  aRequest,
  aSpend,
  chainId,
  contract,
  seconds,
} from '../../conformance/usage-requests.js';
import { builtRelease, hasRelease, releaseWithoutCommits } from '../../support/former-release.js';
import { startRedis, type RedisServer } from '../../support/redis.js';
import { aClock } from './clock.js';
import { startFormerReplica, type FormerReplica } from './former-replica.js';
import { openStore } from './redis-usage.js';

// Replicas of this release, which commits, and of the last one that does not, on the same Redis.

let server: RedisServer;
let directory = '';
let runs = 0;
let clock: ReturnType<typeof aClock>;
let present: RedisUsageStore;
let former: FormerReplica;

/** Skipped in a shallow clone, which does not have the former release. */
const withHistory = hasRelease(releaseWithoutCommits) ? test : test.skip;

beforeAll(async () => {
  if (hasRelease(releaseWithoutCommits)) builtRelease(releaseWithoutCommits);
  server = await startRedis(['--appendfsync', 'no']);
}, 300_000);
afterAll(() => server.stop());
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'epochs-'));
  clock = aClock();
  runs += 1;
  present = await openPresent();
  await present.advance({
    chainId,
    expected: undefined,
    next: cursorAt(1),
    settled: [],
    released: [],
    forfeited: [],
    charges: [],
    restored: [],
    balances: [{ contract, balance: gwei(1_000), readAt: clock.now() }],
  });
  await present.recovery.raise();
  const place = { url: server.url, keyPrefix: `roll-back-${runs}:`, directory, now: clock.now() };
  former = await startFormerReplica(releaseWithoutCommits, place);
});
afterEach(async () => {
  await present.stop();
  await former.stop();
  rmSync(directory, { recursive: true });
});

function openPresent(): Promise<RedisUsageStore> {
  return openStore(server.url, {
    keyPrefix: `roll-back-${runs}:`,
    clock,
    durability: 'none',
    epochMirror: createFileEpochMirror(directory),
  });
}

const cursorAt = (blockNumber: number) => ({
  blockNumber,
  blockHash: aHash(blockNumber),
  timestamp: seconds(0),
});

/** Of a hundred gwei that may be spent. The nonce key is the number of the operation. */
function request(operation: number, cost: number, phase?: 'commit' | 'finalize'): ReserveRequest {
  return aRequest({
    key: { nonce: BigInt(operation) << 64n },
    limits: [aSpend(cost)],
    holds: [aHold(cost)],
    accounts: [aNeed(cost)],
    promise: { digest: aDigest(operation), validUntil: seconds(300) },
    ...(phase === undefined ? {} : { phase: { kind: phase, commitment: aHash(operation) } }),
  });
}
const commit = (operation: number, cost: number) => present.reserve(request(operation, cost, 'commit'));
const finalize = (operation: number, cost: number) => present.reserve(request(operation, cost, 'finalize'));
const askFormer = (operation: number, cost: number): Promise<unknown> =>
  former.call('reserve', request(operation, cost));
async function pass(ms: number): Promise<void> {
  clock.advance(ms);
  await former.call('advanceClock', ms);
}

const reserved: ReserveResult = { outcome: 'reserved' };
const tooMuch = (used: number) => ({ outcome: 'limit', index: 0, used });
const notCommitted = { outcome: 'not-committed' };
const held = async () => (await present.counters(chainId, [aSpend(0)]))[0]!.reserved;

withHistory(
  'the former release counts what commits hold, and a commit that it has not touched is finalized',
  async () => {
    expect(await commit(1, 60)).toEqual(reserved);
    expect(await askFormer(2, 41)).toEqual(tooMuch(60));
    expect(await askFormer(2, 40)).toEqual(reserved);
    expect(await finalize(1, 60)).toEqual(reserved);
    expect(await askFormer(3, 1)).toEqual(tooMuch(100));
    expect(await held()).toBe(100);
  },
);

withHistory(
  'after a roll-back nothing is finalized that was written meanwhile, and what a commit held is held until it expires',
  async () => {
    expect(await commit(1, 30)).toEqual(reserved);
    expect(await commit(2, 10)).toEqual(reserved);
    expect(await finalize(2, 10)).toEqual(reserved);
    expect(await commit(3, 50)).toEqual(reserved);
    await present.stop();

    // The same operation, for less than its commit.
    expect(await askFormer(3, 20)).toEqual(reserved);
    await pass(60_000);
    // Nobody frees a commit that is over.
    expect(await askFormer(4, 11)).toEqual(tooMuch(90));
    expect(await askFormer(4, 10)).toEqual(reserved);

    // Its follower ends the reservation of a commit like one whose promise has expired, without an operation to look for.
    await pass(1_000);
    const query = { operations: [], expiredBefore: seconds(61), limit: 10 };
    expect(await former.call('reservations', chainId, query)).toMatchObject([
      { key: { nonce: 1n << 64n }, promises: [], folded: [], validUntil: seconds(60) },
    ]);
    const released = [{ key: request(1, 30).key, validUntil: seconds(60) }];
    const step = { chainId, expected: cursorAt(1), next: cursorAt(2), released };
    const rest = { settled: [], forfeited: [], charges: [], restored: [], balances: [] };
    expect(await former.call('advance', { ...step, ...rest })).toMatchObject({ isTaken: true });

    present = await openPresent();
    expect(await held()).toBe(70);
    expect(await finalize(1, 30)).toMatchObject(notCommitted);
    expect(await finalize(3, 50)).toMatchObject(notCommitted);
    // Its commit is over; the promise stays.
    expect(await present.dropCommits(chainId)).toBe(0);
    expect(await held()).toBe(70);
    expect((await present.reservations(chainId)).map(({ commit: left }) => left)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  },
);

withHistory(
  'a commit that the former release has written over cannot be finalized, and its sender commits again',
  async () => {
    for (const operation of [1, 2, 3, 4]) expect(await commit(operation, 5)).toEqual(reserved);
    for (const operation of [1, 2, 3, 4]) expect(await askFormer(operation, 10)).toEqual(reserved);
    for (const operation of [1, 2, 3, 4]) expect(await finalize(operation, 5)).toMatchObject(notCommitted);
    expect(await held()).toBe(40);
    for (const operation of [5, 6, 7, 8]) expect(await commit(operation, 15)).toEqual(reserved);
    expect(await held()).toBe(100);
    for (const operation of [5, 6, 7, 8]) expect(await finalize(operation, 15)).toEqual(reserved);
    await pass(60_000);
    expect(await present.dropCommits(chainId)).toBe(0);
    expect(await held()).toBe(100);
  },
);
