import type { UsageEpoch } from '../../core/usage/epoch.js';
import type { EpochMs } from '../../core/units/time.js';

/** What a usage store keeps about the epoch, beside the data of a chain. */
export type KeptEpoch = {
  /** The epoch as "id:since"; "" if no epoch is kept. */
  readonly kept: string;
  /** Rises with every write to the chain's data; 0 without data. */
  readonly sequence: number;
  /** As in the mirror, in case the mirror is lost; 0 if it was never noted. */
  readonly longestExpiryMs: number;
  /** The store's time. */
  readonly now: EpochMs;
};

/** The epochs that a usage store keeps beside the data. Every method except the first throws UNAVAILABLE. */
export type KeptEpochs = {
  /** Throws UNAVAILABLE while the store is not connected or not safe. */
  assertUsable(): void;
  read(chainId: number): Promise<KeptEpoch>;
  /**
   * Begins a new epoch if the stored epoch is `expected`, and returns what is stored then. The first epoch covers all
   * usage (since 0); any other begins now. The sequence goes on.
   */
  begin(chainId: number, expected: string, isFirst: boolean): Promise<KeptEpoch>;
  /** Stores the longest expiry if the stored epoch is `expected`. */
  noteExpiry(chainId: number, expected: string, longestExpiryMs: number): Promise<void>;
};

/** The epoch of a chain as stores compare it. */
export type ChainEpoch = {
  /** "id:since" */
  readonly text: string;
  readonly since: EpochMs;
  /** The highest sequence of the epoch that this process has seen: a store behind it has lost data. */
  readonly sequence: number;
};

/** The text that a store keeps for an epoch. */
export function epochText({ id, since }: Pick<UsageEpoch, 'id' | 'since'>): string {
  return `${id}:${since}`;
}

/** The reverse of {@link epochText}, with the sequence beside it. */
export function parseKept({ kept, sequence }: KeptEpoch): Pick<UsageEpoch, 'id' | 'since' | 'sequence'> {
  const [id = '', since = ''] = kept.split(':');
  return { id, since: Number(since) as EpochMs, sequence };
}
