import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createFileEpochMirror } from '../../../adapters/usage/file-epoch-mirror.js';
import type { RedisUsageStore } from '../../../adapters/usage/redis/usage-options.js';
import { toSeconds, type EpochMs } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import { exposureCounter, limitCounter, liveCounter } from '../../../core/usage/counter-names.js';
import type { ReserveRequest } from '../../../core/usage/usage-store.js';
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
  sender,
} from '../../conformance/usage-requests.js';
import { builtRelease, formerRelease, hasRelease } from '../../support/former-release.js';
import { startRedis, type RedisServer } from '../../support/redis.js';
import { aClock } from './clock.js';
import { startFormerReplica, type FormerReplica } from './former-replica.js';
import { openStore } from './redis-usage.js';

// Replicas of the last release of the first data format and of this one on the same Redis.

type Clock = ReturnType<typeof aClock>;
/** A moment of the real world: how long Redis keeps a counter is by its own time. */
const begin = (Math.floor(Date.now() / hourMs) * hourMs) as EpochMs;
const lost = { code: 'UNAVAILABLE', reason: 'USAGE_STORE_LOST' };
const threshold = 400;
const limitOf = (subject: string) => ({ policyId: 'policy-1', startMs: begin, subject });

let server: RedisServer;
let runs = 0;
let directory = '';
let clock: Clock;
let replicas: { stop(): Promise<void> }[] = [];

/** Skipped in a shallow clone, which does not have the former release. */
const withHistory = hasRelease(formerRelease) ? test : test.skip;

beforeAll(async () => {
  if (hasRelease(formerRelease)) builtRelease(formerRelease);
  server = await startRedis(['--appendfsync', 'no']);
}, 300_000);
afterAll(() => server.stop());
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'epochs-'));
  clock = aClock((begin + 60_000) as EpochMs);
  runs += 1;
});
afterEach(async () => {
  await Promise.all(replicas.splice(0).map((replica) => replica.stop()));
  rmSync(directory, { recursive: true });
});

async function openFormer(): Promise<FormerReplica> {
  const place = { url: server.url, keyPrefix: `mixed-${runs}:`, directory, now: clock.now() };
  const former = await startFormerReplica(formerRelease, place);
  replicas.push(former);
  return former;
}

async function openPresent(identity = 'present'): Promise<RedisUsageStore> {
  const store = await openStore(server.url, {
    keyPrefix: `mixed-${runs}:`,
    clock,
    identity,
    durability: 'none',
    epochMirror: createFileEpochMirror(directory),
  });
  replicas.push(store);
  return store;
}

const inSeconds = (after: number) => toSeconds(clock.now()) + after;

/** The former release's reservation for an operation: one in a count, and one of an account. */
function formerRequest(n: number, change: object = {}) {
  const share = { startMs: begin, durationMs: hourMs, cost: 1, unit: 'COUNT', policyId: 'policy-1' };
  return {
    key: aKey({ nonce: BigInt(n) }),
    configGeneration: 1,
    contract,
    mode: 'SPONSORED',
    fundingAddress: undefined,
    limits: [
      { ...share, subject: '', threshold },
      { ...share, subject: sender, threshold: 10 * threshold },
    ],
    accounts: [aNeed(5)],
    validUntil: inSeconds(600),
    depositMaxAgeMs: 100 * hourMs,
    ...change,
  };
}

/** The same of this release. */
function presentRequest(n: number, from: EpochMs = begin): ReserveRequest {
  const window = { from, until: (from + hourMs) as EpochMs };
  const index = (from - begin) / hourMs;
  return aRequest({
    key: { nonce: BigInt(n) },
    limits: [
      aLimit({ counter: limitCounter(limitOf(''), index, ''), window, threshold }),
      aLimit({ counter: limitCounter(limitOf(sender), index, sender), window, threshold: 10 * threshold }),
    ],
    holds: [{ counter: liveCounter('pm-1'), unit: 'COUNT', cost: 1, threshold: 500_000 }],
    accounts: [aNeed(5)],
    promise: { validUntil: inSeconds(600) as never },
    depositMaxAgeMs: 100 * hourMs,
    // The id is in the reservation; the former release reads over it.
    record: { id: `id-${n}`, text: `decision ${n}` },
  });
}

const aStep = (blockNumber: number, change: object = {}) => ({
  chainId,
  expected: blockNumber === 1 ? undefined : cursorAt(blockNumber - 1),
  next: cursorAt(blockNumber),
  settled: [],
  released: [],
  forfeited: [],
  charges: [],
  restored: [],
  balances: [],
  ...change,
});
const cursorAt = (blockNumber: number) => ({
  blockNumber,
  blockHash: aHash(blockNumber),
  timestamp: blockNumber,
});
const balances = () => [{ contract, balance: gwei(1e9), readAt: clock.now() }];

/** Sends requests numbered from `first` on, eight at a time, until it is stopped. Answers the acknowledged numbers. */
function load(ask: (n: number) => Promise<unknown>, first: number) {
  const acknowledged: number[] = [];
  const errors: unknown[] = [];
  let isStopped = false;
  let next = first;
  const worker = async (): Promise<void> => {
    while (!isStopped) {
      const n = next++;
      const result = await ask(n).catch((error: unknown) => ({ error }));
      const { outcome, error } = result as { outcome?: string; error?: unknown };
      if (outcome === 'reserved') acknowledged.push(n);
      if (error !== undefined) errors.push(error);
      if (error !== undefined || outcome === 'limit') await new Promise(setImmediate);
    }
  };
  const workers = Array.from({ length: 8 }, worker);
  return {
    acknowledged,
    errors,
    stop: async () => {
      isStopped = true;
      await Promise.all(workers);
    },
  };
}

const reached = async (count: () => number, most: number): Promise<void> => {
  while (count() < most) await new Promise(setImmediate);
};

withHistory(
  'under load, with the first new replica the old ones refuse, and together they never promise more than the limit',
  async () => {
    const formers = [await openFormer(), await openFormer()];
    expect(await formers[0]!.call('advance', aStep(1, { balances: balances() }))).toBe(true);
    expect(await formers[0]!.call('hold', chainId)).toBe(true);
    const old = formers.map((former, i) =>
      load((n) => former.call('reserve', formerRequest(n)), 1 + 1e6 * i),
    );
    await reached(() => old.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0), threshold / 4);

    const present = await openPresent();
    const news = load((n) => present.reserve(presentRequest(n)), 5e6);
    await reached(() => news.acknowledged.length, threshold / 4);
    const afterwards = old.map(({ acknowledged }) => acknowledged.length);
    await reached(() => Math.min(...old.map(({ errors }) => errors.length)), 10);
    // Until the limit is full.
    while ((await present.reserve(presentRequest(9e6))).outcome === 'reserved')
      await present.advance(await stepOf(present, { released: [{ key: presentRequest(9e6).key }] }));
    await Promise.all([...old, news].map(({ stop }) => stop()));

    for (const { errors } of old) expect(errors.at(-1)).toMatchObject(lost);
    expect(old.map(({ acknowledged }) => acknowledged.length)).toEqual(afterwards);
    const acknowledged = [...old, news].flatMap((one) => one.acknowledged);
    expect(acknowledged).toHaveLength(threshold);
    const live = await present.reservations(chainId);
    expect(new Set(live.map(({ key }) => Number(key.nonce)))).toEqual(new Set(acknowledged));
    expect(await present.counters(chainId, presentRequest(0).limits)).toEqual([
      { used: 0, reserved: threshold },
      { used: 0, reserved: threshold },
    ]);
    expect(await present.counters(chainId, presentRequest(0).holds)).toEqual([
      { used: 0, reserved: threshold },
    ]);

    // The old follower cannot act, nor begin a new epoch while this release follows the chain.
    expect(await present.lease.hold(chainId)).toBe(true);
    expect(await formers[0]!.call('hold', chainId)).toBe(false);
    await expect(formers[0]!.call('advance', aStep(2))).rejects.toMatchObject(lost);
    await expect(formers[0]!.call('cursor', chainId)).rejects.toMatchObject(lost);
    expect(await formers[0]!.call('recover', chainId)).toBe('waiting');
    await present.reserve(presentRequest(9e6));
    await present.recovery.raise();
    for (let hours = 0; hours < 4; hours++) {
      clock.advance(hourMs);
      await Promise.all(formers.map((former) => former.call('advanceClock', hourMs)));
      await present.setSuspended(chainId, 'nobody', true);
      await present.recovery.raise();
      expect(await formers[0]!.call('recover', chainId)).toBe('waiting');
      await present.setSuspended(chainId, 'nobody', false);
      await present.recovery.raise();
    }
    expect(await present.liveCount(chainId)).toBe(threshold);
  },
  300_000,
);

async function stepOf(store: RedisUsageStore, change: object) {
  const expected = await store.cursor(chainId);
  const blockNumber = (expected?.blockNumber ?? 0) + 1;
  return { ...aStep(blockNumber, change), expected } as never;
}

withHistory(
  'reservations of the former release are known by mode and contract, hold what they promise, and settle',
  async () => {
    const former = await openFormer();
    await former.call('advance', aStep(1, { balances: balances() }));
    const token = { key: aKey({ nonce: 2n, paymasterId: 'pm-1+ERC20' }), mode: 'ERC20', limits: [] };
    expect(await former.call('reserve', formerRequest(1))).toEqual({ outcome: 'reserved' });
    expect(await former.call('reserve', formerRequest(2, token))).toEqual({ outcome: 'reserved' });
    expect(await former.call('reserve', formerRequest(3))).toEqual({ outcome: 'reserved' });
    const settled = [{ key: aKey({ nonce: 3n }), actualCost: gwei(1) }];
    expect(await former.call('advance', aStep(2, { settled }))).toBe(true);

    const present = await openPresent();
    const exposure = { counter: exposureCounter(contract, 'all'), unit: 'NATIVE_ASSET', cost: 5 } as const;
    const live = { counter: liveCounter('pm-1'), unit: 'COUNT', cost: 1 } as const;
    const byNonce = await present.reservations(chainId);
    const folded = { contract, prefundWei: 5_000_000_000n, validUntil: inSeconds(600) };
    expect(byNonce.toSorted((a, b) => Number(a.key.nonce - b.key.nonce))).toMatchObject([
      {
        key: aKey({ nonce: 1n }),
        promises: [],
        folded: [{ mode: 'SPONSORED', ...folded }],
        limits: [
          { counter: limitCounter(limitOf(''), 0, ''), unit: 'COUNT', cost: 1 },
          { counter: limitCounter(limitOf(sender), 0, sender), unit: 'COUNT', cost: 1 },
        ],
        holds: [live],
        accounts: [aNeed(5)],
      },
      {
        key: aKey({ nonce: 2n, paymasterId: 'pm-1+ERC20' }),
        promises: [],
        folded: [{ mode: 'ERC20', ...folded }],
        holds: [live, exposure],
      },
    ]);
    for (const { limits } of byNonce)
      for (const { until } of limits) expect(Math.abs(until - (begin + hourMs))).toBeLessThan(60_000);
    expect(await present.counters(chainId, [...presentRequest(0).limits, live, exposure])).toEqual([
      { used: 1, reserved: 1 },
      { used: 1, reserved: 1 },
      { used: 0, reserved: 2 },
      { used: 0, reserved: 5 },
    ]);

    const again = byNonce.map(({ key }) => ({ key, actualCost: gwei(2) }));
    expect(await present.advance(await stepOf(present, { settled: again }))).toMatchObject({ isTaken: true });
    expect(await present.liveCount(chainId)).toBe(0);
    expect(await present.counters(chainId, [...presentRequest(0).limits, live, exposure])).toEqual([
      { used: 2, reserved: 0 },
      { used: 2, reserved: 0 },
      { used: 0, reserved: 0 },
      { used: 0, reserved: 0 },
    ]);
    expect(await present.accounts(chainId)).toMatchObject([{ reserved: 0 }]);
  },
  300_000,
);

withHistory(
  'several new replicas that start at once convert the data once',
  async () => {
    const former = await openFormer();
    await former.call('advance', aStep(1, { balances: balances() }));
    for (let n = 1; n <= 200; n++)
      await former.call(
        'reserve',
        formerRequest(n, { key: aKey({ nonce: BigInt(n), sender: anAddress(n) }) }),
      );
    const presents = await Promise.all(['a', 'b', 'c'].map((identity) => openPresent(identity)));
    const asked = presents.map((store, i) => store.reserve(presentRequest(1000 + i)));
    expect(await Promise.all(asked)).toEqual(presents.map(() => ({ outcome: 'reserved' })));
    const reserved = presents.length;
    for (const store of presents) {
      expect(await store.liveCount(chainId)).toBe(200 + reserved);
      const [shared] = await store.counters(chainId, presentRequest(0).limits);
      expect(shared).toEqual({ used: 0, reserved: 200 + reserved });
      expect(await store.counters(chainId, presentRequest(0).holds)).toEqual([
        { used: 0, reserved: 200 + reserved },
      ]);
    }
  },
  300_000,
);

withHistory(
  'after a roll-back the former release refuses until every promise has expired, and then until windows turn; and back again',
  async () => {
    const present = await openPresent();
    expect(await present.advance(aStep(1, { balances: balances() }) as never)).toMatchObject({
      isTaken: true,
    });
    for (let n = 1; n <= threshold; n++)
      expect(await present.reserve(presentRequest(n))).toEqual({ outcome: 'reserved' });
    expect(await present.reserve(presentRequest(0))).toMatchObject({ outcome: 'limit' });
    expect(await present.lease.hold(chainId)).toBe(true);
    await present.lease.release(chainId);
    await present.stop();

    const former = await openFormer();
    const pass = async (ms: number) => {
      clock.advance(ms);
      await former.call('advanceClock', ms);
    };
    await expect(former.call('reserve', formerRequest(0))).rejects.toMatchObject(lost);
    expect(await former.call('hold', chainId)).toBe(true);
    expect(await former.call('recover', chainId)).toBe('waiting');
    await pass(600_000);
    expect(await former.call('recover', chainId)).toBe('waiting');
    await expect(former.call('reserve', formerRequest(0))).rejects.toMatchObject(lost);
    await pass(120_000);
    expect(await former.call('recover', chainId)).toBe('recovered');
    expect(await former.call('reserve', formerRequest(0))).toMatchObject({ outcome: 'usage-lost' });

    // Its follower reads the reservations that this release left, and ends them.
    const query = { operations: [], expiredBefore: inSeconds(0), limit: 10_000 };
    const expired = (await former.call('reservations', chainId, query)) as {
      key: object;
      validUntil: number;
    }[];
    expect(expired).toHaveLength(threshold);
    expect(await former.call('advance', aStep(2, { released: expired.slice(1), balances: balances() }))).toBe(
      true,
    );
    // In the next window it serves.
    await pass(begin + hourMs - clock.now());
    const next = (n: number) => formerRequest(n);
    for (let n = 1; n <= threshold / 2; n++)
      expect(await former.call('reserve', next(10_000 + n))).toEqual({ outcome: 'reserved' });

    const again = await openPresent();
    const from = (begin + hourMs) as EpochMs;
    let passed = 0;
    while ((await again.reserve(presentRequest(20_000 + passed, from))).outcome === 'reserved') passed += 1;
    expect(passed).toBe(threshold / 2);
    // One reservation of the first release was left; ended ones hold nothing.
    expect(await again.liveCount(chainId)).toBe(threshold + 1);
    expect(await again.counters(chainId, presentRequest(0).holds)).toEqual([
      { used: 0, reserved: threshold + 1 },
    ]);
    await expect(former.call('reserve', next(30_000))).rejects.toMatchObject(lost);
  },
  300_000,
);
