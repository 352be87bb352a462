import type { FollowerLease } from '../../../core/policy/follower-lease.js';
import type { ChainKeys } from './keys.js';
import type { RedisLink } from '../../redis/link.js';
import { leaseScript } from './scripts.js';

/** A follower that has not renewed for this long loses its chain to another replica. */
const leaseMs = 10_000;

/** The lease is in the usage store, so that it survives an outage of everything else. It ends by the time of Redis. */
export function createRedisLease(deps: {
  readonly link: RedisLink;
  readonly keys: (chainId: number) => ChainKeys;
  /** Unique per process. */
  readonly identity: string;
}): FollowerLease {
  const ask = async (chainId: number, ms: number): Promise<boolean> => {
    const reply = await deps.link.run(
      leaseScript,
      [deps.keys(chainId).lease],
      [`2:${deps.identity}`, ms],
      false,
    );
    return reply === 1;
  };
  return {
    hold: (chainId) => ask(chainId, leaseMs),
    release: async (chainId) => {
      await ask(chainId, 0);
    },
  };
}
