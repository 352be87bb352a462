import type { Redis } from 'ioredis';
import { createMemoryEpochMirror } from '../../core/usage/epoch.js';
import type { RedisServer } from '../support/redis.js';
import { copyOf, openStore, putBack, wipe, type Copy } from '../usage/redis-usage.js';
import type { OpenStores } from './stores.js';

let runs = 0;

/**
 * So many replicas over one Redis. A kill ends the server as well, or one replica; a backup is put back under the feet of those
 * that run (a replica of Redis that was promoted without the last writes) or before they start again.
 */
export function openOnRedis(server: RedisServer, data: Redis, count: number): OpenStores {
  return async (clock) => {
    const keyPrefix = `adversary-${(runs += 1)}:`;
    const epochMirror = createMemoryEpochMirror();
    const open = (i: number) =>
      openStore(server.url, { keyPrefix, clock, epochMirror, identity: `replica-${i}` });
    const replicas = await Promise.all(Array.from({ length: count }, (_, i) => open(i)));
    let backup: Copy | undefined;
    let kills = 0;
    const replace = async (i: number) => {
      const former = replicas[i]!;
      replicas[i] = await open(i);
      await former.stop();
    };
    return {
      get replicas() {
        return replicas;
      },
      get recovery() {
        return replicas[0]!.recovery;
      },
      kill: async () => {
        kills += 1;
        await replace(kills % count);
      },
      backup: async () => {
        backup = await copyOf(data, keyPrefix);
      },
      restore: async () => {
        if (backup === undefined) return false;
        kills += 1;
        await wipe(data, keyPrefix);
        await putBack(data, backup);
        if (kills % 2 === 0) for (let i = 0; i < count; i++) await replace(i);
        return true;
      },
      stop: async () => {
        await Promise.all(replicas.map((replica) => replica.stop()));
        await wipe(data, keyPrefix);
      },
    };
  };
}
