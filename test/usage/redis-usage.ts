import type { RedisUsageOptions } from '../../core/adapters/store/redis/usage-options.js';
import { createRedisUsageStore } from '../../core/adapters/store/redis/usage.js';
import { silentLogger } from '../../core/log.js';
import type { EpochHarness, LosableUsage } from '../conformance/usage-epoch.js';
import type { UsageHarness } from '../conformance/usage/suite.js';
import type { RedisServer } from '../support/redis.js';
import { aClock } from './sqlite-usage.js';

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
 * An empty store of its own on a server that all tests share, by its key prefix: `flush` before it may be too. Its clock
 * is moved by hand; restarting it is a replica that is replaced.
 */
export async function createRedisHarness(
  server: RedisServer,
  keyPrefix: string,
  change: Partial<RedisUsageOptions> = {},
): Promise<UsageHarness> {
  const clock = aClock();
  const options = { keyPrefix, clock, ...change };
  let current = await openStore(server.url, options);
  return {
    store: current,
    now: () => clock.now(),
    advance: (ms) => clock.advance(ms),
    restart: async () => {
      await current.stop();
      current = await openStore(change.url ?? server.url, options);
      return current;
    },
    stop: () => current.stop(),
  };
}

/** Two key prefixes of one server: the one that is kept, and one in which there was nothing. */
export async function createRedisEpochHarness(server: RedisServer, keyPrefix: string): Promise<EpochHarness> {
  const clock = aClock();
  let current: LosableUsage | undefined;
  return {
    clock,
    open: async (data, epochMirror) => {
      await current?.stop();
      current = await openStore(server.url, { keyPrefix: `${keyPrefix}${data}:`, clock, epochMirror });
      return current;
    },
    stop: async () => {
      await current?.stop();
    },
  };
}
