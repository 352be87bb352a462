import type { EpochMs } from '../units/time.js';

/**
 * Identity of the usage data of a chain. A store that was wiped, or that came back without its last writes, has none or
 * another one; what was promised and used is then unknown, and unknown is not zero.
 */
export type UsageEpoch = {
  readonly id: string;
  /** Usage of windows that began before this moment is lost; 0 for the first epoch. */
  readonly since: EpochMs;
  /** No promise was ever made for longer than this: what a loss has to wait for. Raised before one is. */
  readonly longestExpiryMs: number;
  /** When it was first noticed that the store does not hold this epoch any more. */
  readonly lostAt?: EpochMs;
};

/** Port: a copy of each chain's epoch outside of the usage store, which must not be lost together with it. */
export type EpochMirror = {
  get(chainId: number): Promise<UsageEpoch | undefined>;
  /**
   * Writes `next` if the copy is still `expected` (undefined: there is none); false otherwise. Throws UNAVAILABLE when
   * the copy cannot be reached.
   */
  put(chainId: number, next: UsageEpoch, expected: UsageEpoch | undefined): Promise<boolean>;
};

/** The copies of all chains, for who only shows whether a chain's data are lost. Throws UNAVAILABLE. */
export type EpochCopies = { all(): Promise<ReadonlyMap<number, UsageEpoch>> };

/** What the follower does about a usage store that has lost its data. */
export type UsageRecovery = {
  /**
   * Begins a new epoch when the data of a chain are lost and every promise made with them has expired: the longest
   * expiry after the loss was first noticed. Until then, and wherever the data are there, it changes nothing. Throws UNAVAILABLE.
   */
  recover(chainId: number): Promise<'intact' | 'waiting' | 'recovered'>;
};

export function isSameEpoch(a: UsageEpoch | undefined, b: UsageEpoch | undefined): boolean {
  return (
    a?.id === b?.id &&
    a?.since === b?.since &&
    a?.lostAt === b?.lostAt &&
    a?.longestExpiryMs === b?.longestExpiryMs
  );
}

/** A copy that lives as long as the process: tells a loss that happens meanwhile, and no other. */
export function createMemoryEpochMirror(): EpochMirror & EpochCopies {
  const copies = new Map<number, UsageEpoch>();
  return {
    get: async (chainId) => copies.get(chainId),
    all: async () => new Map(copies),
    put: async (chainId, next, expected) => {
      if (!isSameEpoch(copies.get(chainId), expected)) return false;
      copies.set(chainId, next);
      return true;
    },
  };
}

/** For a usage store that is part of the process it serves. */
export const neverLost: UsageRecovery = { recover: async () => 'intact' };
