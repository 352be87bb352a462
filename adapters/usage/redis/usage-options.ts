import type { LedgerFeed } from '../../../core/ledger/feed.js';
import type { Logger } from '../../../core/log.js';
import type { Metrics } from '../../../core/metrics.js';
import type { FollowerLease } from '../../../core/policy/follower-lease.js';
import type { EpochMirror, UsageRecovery } from '../../../core/usage/epoch.js';
import type { FundingMessages } from '../../../core/usage/funding-messages.js';
import type { UsageReading, UsageStore } from '../../../core/usage/usage-store.js';
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
  /** Unique per process, for the follower's lease and as a consumer of records. */
  readonly identity: string;
  readonly ledger?: LedgerOptions;
  readonly log: Logger;
  readonly metrics?: Metrics;
};

/** Room for the records that wait in Redis for the ledger. */
export type LedgerOptions = {
  /** Bytes for all chains together. Default: a quarter of `maxmemory`, or 256 MiB if Redis has none. */
  readonly budgetBytes?: number;
  /** Without room, `Stop` signs nothing (UNAVAILABLE, LEDGER_FULL); `Sign` signs, and records how often. Default `Stop`. */
  readonly onFull?: 'Stop' | 'Sign';
  /** After this time another consumer gets what was read and not acknowledged. Default 10,000. */
  readonly claimAfterMs?: number;
  /** A consumer that has been idle for so long, and has acknowledged everything, is forgotten. Default an hour. */
  readonly forgetConsumersAfterMs?: number;
};

export type RedisUsageStore = UsageStore &
  FundingMessages & {
    /** The records that `reserve` and `advance` were given, by any process. */
    readonly feed: LedgerFeed;
    readonly lease: FollowerLease;
    readonly reading: UsageReading;
    /** `raise` updates the copies of the epochs at once, as happens every few seconds. */
    readonly recovery: UsageRecovery & { raise(): Promise<boolean> };
    /** Resolves when a Redis that was found safe has answered. Until then every call throws UNAVAILABLE. */
    opened(): Promise<void>;
  };
