import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import type { RedisUsageStore } from '../../../adapters/usage/redis/usage-options.js';
import { createMemoryEpochMirror } from '../../../core/usage/epoch.js';
import { gwei } from '../../../core/units/wei.js';
import { createMetrics } from '../../../adapters/metrics/prometheus.js';
import type { FollowerStep, ReserveRequest } from '../../../core/usage/usage-store.js';
import {
  aHash,
  aHold,
  aLimit,
  anAddress,
  aNeed,
  aRequest,
  aSpend,
  chainId,
  contract,
  seconds,
} from '../../conformance/usage-requests.js';
import { startRedis, type RedisServer } from '../../support/redis.js';
import { succeeds, until } from '../../support/until.js';
import { aClock } from './clock.js';
import { openStore } from './redis-usage.js';

const full = { code: 'UNAVAILABLE', details: { reason: 'USAGE_STORE_FULL' } };
const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

async function serve(settings: readonly string[]): Promise<RedisServer> {
  const server = await startRedis(settings);
  cleanUps.push(() => server.stop());
  return server;
}

async function open(
  server: RedisServer,
  change: Parameters<typeof openStore>[1] = {},
): Promise<RedisUsageStore> {
  const store = await openStore(server.url, { clock: aClock(), durability: 'none', ...change });
  cleanUps.push(() => store.stop());
  return store;
}

/** As large as those of a paymaster with two limits, of which one is per account. */
function request(n: number): ReserveRequest {
  const sender = anAddress(1000 + n);
  return aRequest({
    key: { nonce: BigInt(n), sender },
    limits: [
      aSpend(1, { counter: 'spend', threshold: 1e9 }),
      aLimit({ counter: `of/${sender}`, threshold: 1e9 }),
    ],
    holds: [aHold(1, { threshold: 1e9 })],
    accounts: [aNeed(1)],
  });
}

function aStep(change: Partial<FollowerStep>): FollowerStep {
  return {
    chainId,
    expected: undefined,
    next: { blockNumber: 1, blockHash: aHash(1), timestamp: seconds(1) },
    settled: [],
    released: [],
    forfeited: [],
    charges: [],
    restored: [],
    balances: [],
    ...change,
  };
}

/** Reserves until it fails; answers how many passed. */
async function fill(store: RedisUsageStore): Promise<{ readonly passed: number; readonly error: unknown }> {
  for (let passed = 0; ; passed += 100) {
    const page = Array.from({ length: 100 }, (_, i) => store.reserve(request(passed + i)));
    const failed = (await Promise.allSettled(page)).filter((one) => one.status === 'rejected');
    if (failed.length > 0) return { passed: passed + 100 - failed.length, error: failed[0]?.reason };
  }
}

test('a Redis that is full refuses to reserve, shows what it has, settles, suspends, and serves again when that has freed it', async () => {
  const server = await serve(['--appendfsync', 'no', '--maxmemory', '8mb']);
  const store = await open(server);
  const balance = { contract, balance: gwei(1e9), readAt: store.now() };
  const step = aStep({ balances: [balance] });
  expect(await store.advance(step)).toMatchObject({ isTaken: true });
  const { passed, error } = await fill(store);
  expect(error).toMatchObject(full);
  expect(String(error)).toContain('has reached maxmemory');
  expect(passed).toBeGreaterThan(1000);
  // Short-lived memory of clients counts too, so one more request may still pass at the bound itself.
  await server.command(['CONFIG', 'SET', 'maxmemory', '6mb']);
  const next = request(1_000_000);
  await expect(store.reserve(next)).rejects.toMatchObject(full);

  const peeked = await store.peek(next);
  expect(peeked.result).toEqual({ outcome: 'reserved' });
  const [spent] = await store.counters(chainId, [{ counter: 'spend', unit: 'NATIVE_ASSET' }]);
  expect(spent).toEqual({ used: 0, reserved: await store.liveCount(chainId) });
  await store.setSuspended(chainId, 'pm-2', true);
  expect(await store.suspended(chainId)).toEqual(['pm-2']);
  await store.noteGenerations(chainId, [{ id: 'pm-2', generation: 9 }]);
  expect(await store.lease.hold(chainId)).toBe(true);

  const live = await store.reservations(chainId);
  const half = Math.ceil(live.length / 2);
  const settled = live.slice(0, half).map(({ key }) => ({ key, actualCost: gwei(1), record: 'settled' }));
  const released = live.slice(half).map(({ key }) => ({ key }));
  const following = { ...step.next, blockNumber: 2 };
  const ending = aStep({ expected: step.next, next: following, settled, released });
  expect(await store.advance(ending)).toMatchObject({ isTaken: true });
  expect(await store.liveCount(chainId)).toBe(0);
  // Buffers of the step itself are given back a little later.
  await until('it serves again', () => succeeds(store.reserve(next)));
  expect(await store.liveCount(chainId)).toBe(1);
}, 300_000);

test('the number of reservations that there is room for is less than what Redis can hold', async () => {
  const server = await serve(['--appendfsync', 'no', '--maxmemory', '16mb']);
  const store = await open(server);
  const empty = Number(/used_memory:(\d+)/.exec(await server.command(['INFO', 'memory']))?.[1]);
  const balance = { contract, balance: gwei(1e9), readAt: store.now() };
  expect(await store.advance(aStep({ balances: [balance] }))).toMatchObject({ isTaken: true });
  const { passed } = await fill(store);
  const room = (store.capacity() * (16 * 2 ** 20 - empty)) / (16 * 2 ** 20);
  expect(passed).toBeGreaterThan(room);
  expect(passed).toBeLessThan(2.5 * room);
}, 300_000);

test('memory without a bound has room for any number, and metrics show how full a bounded one is', async () => {
  const unbounded = await open(await serve([]));
  expect(unbounded.capacity()).toBe(Infinity);
  const metrics = createMetrics();
  const bounded = await open(await serve(['--maxmemory', '64mb']), { metrics });
  expect(bounded.capacity()).toBe(Math.floor((64 * 2 ** 20) / 2048));
  const { body: text } = await metrics.render();
  expect(text).toContain(`paymaster_usage_redis_memory_max_bytes ${64 * 2 ** 20}`);
  expect(text).toMatch(/paymaster_usage_redis_memory_used_bytes [1-9]/);
});

test('a disk that is full refuses to reserve; with room again Redis has all that was promised', async () => {
  const directory = aSmallDisk();
  if (directory.startsWith('skipped:')) {
    console.warn(directory);
    return;
  }
  const server = await serve(['--dir', directory]);
  const store = await open(server, {
    durability: 'always',
    epochMirror: createMemoryEpochMirror(),
    timeoutMs: 2000,
  });
  const balances = [{ contract, balance: gwei(1e9), readAt: store.now() }];
  expect(await store.advance(aStep({ balances }))).toMatchObject({ isTaken: true });
  const ballast = join(directory, 'ballast');
  writeFileSync(ballast, Buffer.alloc(4 * 2 ** 20));
  const acknowledged: number[] = [];
  for (let n = 0; ; n++) {
    const result = await store.reserve(request(n)).catch((error: unknown) => error);
    if (result instanceof Error) {
      expect(result).toMatchObject({ code: 'UNAVAILABLE' });
      break;
    }
    acknowledged.push(n);
  }
  // With appendfsync always Redis ends instead of acknowledging a write that is not on disk; the test restarts it, as Kubernetes does.
  await server.kill();
  rmSync(ballast);
  await server.start();
  await until('the store is connected again', () => succeeds(store.ping()));
  const nonces = new Set((await store.reservations(chainId)).map(({ key }) => Number(key.nonce)));
  for (const n of acknowledged) expect(nonces).toContain(n);
  expect(await store.reserve(request(1_000_000))).toEqual({ outcome: 'reserved' });
}, 300_000);

/** A directory with room for 6 MiB, or the reason why there is not one. */
function aSmallDisk(): string {
  const directory = mkdtempSync(join(tmpdir(), 'redis-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', directory], { stdio: 'pipe' });
  } catch (error) {
    rmSync(directory, { recursive: true });
    return `skipped: a tmpfs cannot be mounted here, which needs root: ${String(error)}`;
  }
  cleanUps.push(() => {
    execFileSync('umount', [directory]);
    rmSync(directory, { recursive: true });
  });
  return directory;
}
