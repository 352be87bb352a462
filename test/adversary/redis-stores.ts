import type { Redis } from 'ioredis';
import { createMemoryEpochMirror } from '../../core/usage/epoch.js';
import { succeeds, until } from '../support/until.js';
import { copyOf, openStore, putBack, wipe, type Copy } from '../adapters/usage/redis-usage.js';
import type { RedisPair } from './redis-pair.js';
import type { OpenStores } from './stores.js';

let runs = 0;

/**
 * This many replicas over one Redis. A kill ends one replica; a crash ends the server during a request. A backup is restored under
 * running replicas, or before they start again. A failover leads to a replica of Redis that has all data, or lacks what was
 * written since it was detached.
 */
export function openOnRedis(server: RedisPair, data: Redis, count: number): OpenStores {
  return async (clock) => {
    const keyPrefix = `adversary-${(runs += 1)}:`;
    const epochMirror = createMemoryEpochMirror();
    const open = (i: number) =>
      openStore(server.url, { keyPrefix, clock, epochMirror, identity: `replica-${i}` });
    const replicas = await Promise.all(Array.from({ length: count }, (_, i) => open(i)));
    let backup: Copy | undefined;
    let kills = 0;
    let isDetached = false;
    const replace = async (i: number) => {
      const former = replicas[i]!;
      replicas[i] = await open(i);
      await former.stop();
    };
    const answer = async () => {
      for (const replica of replicas) await until('Redis answers', () => succeeds(replica.ping()));
    };
    return {
      get replicas() {
        return replicas;
      },
      recovery: (replica) => replicas[replica % count]!.recovery,
      kill: async () => {
        kills += 1;
        await replace(kills % count);
      },
      crash: async (during) => {
        if (isDetached) return during();
        await Promise.all([during(), server.crash()]);
        await answer();
      },
      detach: async () => {
        if (isDetached) return false;
        await server.detach();
        isDetached = true;
        return true;
      },
      failover: async () => {
        await server.failover();
        await answer();
        const isOlder = isDetached;
        isDetached = false;
        return isOlder ? 'older' : 'whole';
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
        if (isDetached) await server.attach();
      },
    };
  };
}
