import type { Logger } from '../../../core/log.js';
import type { Metrics } from '../../../core/metrics.js';
import type { FollowerLease } from '../../../core/policy/follower-lease.js';
import type { EpochMirror, UsageRecovery } from '../../../core/usage/epoch.js';
import type { FundingMessages } from '../../../core/usage/funding-messages.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import type { Clock } from '../../../core/units/time.js';
import type { RedisCredentials, RedisTls } from '../../redis/client.js';
import type { RedisDurability } from '../../redis/durability.js';

export type RedisUsageOptions = {
  /** See {@link parseRedisAddress} for the forms. */
  readonly url: string;
  readonly tls?: RedisTls;
  readonly credentials?: RedisCredentials;
  /** The start of all keys. Default `paymaster:`. */
  readonly keyPrefix?: string;
  /** Longest wait for an answer. Default 3000. */
  readonly timeoutMs?: number;
  /** Replicas that must have a write before it counts. Default 1 with Sentinel and Cluster, else 0. */
  readonly replicaAcks?: number;
  /** Default `always`. */
  readonly durability?: RedisDurability;
  /** Replaces the time of Redis: for tests. */
  readonly clock?: Clock;
  /** Where the epoch's copy is kept. Default: in this process, which does not notice a loss across its own restart. */
  readonly epochMirror?: EpochMirror;
  /** Unique per process, for the follower's lease. */
  readonly identity: string;
  readonly log: Logger;
  readonly metrics?: Metrics;
};

export type RedisUsageStore = UsageStore &
  FundingMessages & {
    readonly lease: FollowerLease;
    /** `raise` updates the copies of the epochs at once, as happens every few seconds. */
    readonly recovery: UsageRecovery & { raise(): Promise<void> };
    /** Resolves when a Redis that was found safe has answered. Until then every call throws UNAVAILABLE. */
    opened(): Promise<void>;
  };
