import type { EpochMs } from '../units/time.js';

/**
 * Identity and age of the usage data of a chain. A store that was wiped has no epoch or another one; one that came back
 * without its last writes has a lower sequence. What was promised and used is then unknown, and unknown is not zero.
 */
export type UsageEpoch = {
  readonly id: string;
  /** Usage of windows that began before this moment is lost; 0 for the first epoch. */
  readonly since: EpochMs;
  /** The store has reached this sequence: data with a lower one are old data. */
  readonly sequence: number;
  /** No promise that may still be alive was made for longer than this: what a loss has to wait for. Raised before one is. */
  readonly longestExpiryMs: number;
  /** When a promise about that long was last made, as far as this copy knows. */
  readonly longestAt?: EpochMs;
  /** When it was first noticed that the store does not hold this epoch any longer. */
  readonly lostAt?: EpochMs;
  /** The copy was written in another place than it is read from: it was restored, so the data may be restored as well. */
  readonly isMoved?: true;
};

/** How far the data of an epoch have come. */
export type EpochMark = Pick<UsageEpoch, 'id' | 'sequence' | 'longestAt'>;

/** Port: a copy of each chain's epoch outside of the usage store, which must not be lost together with it. */
export type EpochMirror = {
  get(chainId: number): Promise<UsageEpoch | undefined>;
  /**
   * Writes `next` if the copy is still `expected` (undefined: there is none); false otherwise. The copy is then one of
   * this place. Throws UNAVAILABLE when the copy cannot be reached.
   */
  put(chainId: number, next: UsageEpoch, expected: UsageEpoch | undefined): Promise<boolean>;
  /**
   * Raises the copies of these chains to the marks, never down; see {@link raised}. Answers the copies that stand then.
   * A copy that somebody else writes at the same time may stay as it is until the next call. Throws UNAVAILABLE.
   */
  raise(marks: ReadonlyMap<number, EpochMark>): Promise<ReadonlyMap<number, UsageEpoch>>;
};

/** The copies of all chains, for a reader that only shows whether a chain's data are lost. Throws UNAVAILABLE. */
export type EpochCopies = { all(): Promise<ReadonlyMap<number, UsageEpoch>> };

/** What the follower does about a usage store that has lost its data. */
export type UsageRecovery = {
  /**
   * Begins a new epoch when the data of a chain are lost and every promise made with them has expired: the longest
   * expiry after the loss was first noticed, or at once when `acceptedLoss` is the {@link lossIdOf} this loss. Until then, and
   * wherever the data are there, it changes nothing. Throws UNAVAILABLE.
   */
  recover(chainId: number, acceptedLoss?: string): Promise<'intact' | 'waiting' | 'recovered'>;
};

/**
 * Names one loss: the epoch and when it was first noticed, so that a loss which somebody has accepted says nothing of the next
 * one, also of the same epoch. Undefined while nobody has noticed a loss.
 */
export function lossIdOf({ id, lostAt }: UsageEpoch): string | undefined {
  return lostAt === undefined ? undefined : `${id}.${lostAt}`;
}

/** The copy after a mark; the same object where it changes nothing (another epoch, a copy that was restored, nothing higher). */
export function raised(copy: UsageEpoch, mark: EpochMark): UsageEpoch {
  if (copy.id !== mark.id || copy.isMoved === true) return copy;
  const sequence = Math.max(copy.sequence, mark.sequence);
  const longestAt = laterOf(copy.longestAt, mark.longestAt);
  if (sequence === copy.sequence && longestAt === copy.longestAt) return copy;
  return { ...copy, sequence, ...(longestAt === undefined ? {} : { longestAt }) };
}

export function isSameEpoch(a: UsageEpoch | undefined, b: UsageEpoch | undefined): boolean {
  return (
    a?.id === b?.id &&
    a?.since === b?.since &&
    a?.sequence === b?.sequence &&
    a?.longestExpiryMs === b?.longestExpiryMs &&
    a?.longestAt === b?.longestAt &&
    a?.lostAt === b?.lostAt &&
    a?.isMoved === b?.isMoved
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
      const { isMoved: _, ...here } = next;
      copies.set(chainId, here);
      return true;
    },
    raise: async (marks) => {
      const found = new Map<number, UsageEpoch>();
      for (const [chainId, mark] of marks) {
        const copy = copies.get(chainId);
        if (copy === undefined) continue;
        copies.set(chainId, raised(copy, mark));
        found.set(chainId, raised(copy, mark));
      }
      return found;
    },
  };
}

/** For a usage store that is part of the process it serves. */
export const neverLost: UsageRecovery = { recover: async () => 'intact' };

function laterOf(a: EpochMs | undefined, b: EpochMs | undefined): EpochMs | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a > b ? a : b;
}
