import { Redis } from 'ioredis';
import type { RedisUsageOptions } from '../../../adapters/usage/redis/usage-options.js';
import { createRedisUsageStore } from '../../../adapters/usage/redis/usage.js';
import { silentLogger } from '../../../core/log.js';
import { createMemoryEpochMirror } from '../../../core/usage/epoch.js';
import type { UsageHarness } from '../../conformance/usage/suite.js';
import type { RedisServer } from '../../support/redis.js';
import { recordsOf } from './added-records.js';
import { aClock } from './clock.js';

/**
 * Options of a store on a server, with what a test does not care about filled in: an answer that a busy machine takes
 * seconds for is one.
 */
export function storeOptions(url: string, change: Partial<RedisUsageOptions> = {}): RedisUsageOptions {
  return { url, identity: 'replica-1', log: silentLogger, timeoutMs: 10_000, ...change };
}

/** A store that is connected. */
export async function openStore(url: string, change: Partial<RedisUsageOptions> = {}) {
  const store = createRedisUsageStore(storeOptions(url, change));
  await store.opened();
  return store;
}

/**
 * An empty store on a server that all tests share, separated by its key prefix. Its clock is moved by hand; reopening it is
 * a replica that is replaced. `nodes`: all that have data, of a Cluster.
 */
export async function createRedisHarness(
  server: Pick<RedisServer, 'url'>,
  keyPrefix: string,
  change: Partial<RedisUsageOptions> = {},
  nodes: readonly Pick<RedisServer, 'url'>[] = [server],
): Promise<UsageHarness> {
  const clock = aClock();
  const all = { keyPrefix, clock, epochMirror: createMemoryEpochMirror(), ...change };
  const url = change.url ?? server.url;
  const open = () => openStore(url, all);
  let current = await open();
  const data = nodes.map((node) => new Redis(node.url));
  let copies: readonly Copy[] = [];
  const reopen = async () => {
    await current.stop();
    current = await open();
    return current;
  };
  const putCopyBackUnderneath = async () => {
    for (const [i, node] of data.entries()) {
      await wipe(node, keyPrefix);
      await putBack(node, copies[i] ?? []);
    }
  };
  return {
    store: current,
    clock,
    reopen,
    wipe: async () => {
      for (const node of data) await wipe(node, keyPrefix);
      return reopen();
    },
    mirrored: async () => void (await current.recovery.raise()),
    takeRecords: () => recordsOf(current.feed),
    takeCopy: async () => {
      copies = await Promise.all(data.map((node) => copyOf(node, keyPrefix)));
    },
    putCopyBack: async () => {
      await current.stop();
      await putCopyBackUnderneath();
      return reopen();
    },
    putCopyBackUnderneath,
    stop: async () => {
      await current.stop();
      for (const node of data) node.disconnect();
    },
  };
}

/** What a backup of a server has of one store. */
export type Copy = readonly { readonly key: string; readonly value: Buffer; readonly ttl: number }[];

async function keysOf(data: Redis, prefix: string): Promise<readonly string[]> {
  return data.keys(`${prefix}*`);
}

export async function wipe(data: Redis, prefix: string): Promise<void> {
  for (const key of await keysOf(data, prefix)) await data.del(key);
}

export async function copyOf(data: Redis, prefix: string): Promise<Copy> {
  const found: { key: string; value: Buffer; ttl: number }[] = [];
  for (const key of await keysOf(data, prefix)) {
    const value = await data.dumpBuffer(key);
    if (value !== null) found.push({ key, value, ttl: Math.max(0, await data.pttl(key)) });
  }
  return found;
}

export async function putBack(data: Redis, copy: Copy): Promise<void> {
  for (const { key, value, ttl } of copy) await data.restore(key, ttl, value);
}
