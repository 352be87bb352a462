import { plusMs, type EpochMs } from '../units/time.js';

/**
 * Identity and age of the usage data of a chain. A store that was wiped has no epoch, or a different one. A store
 * that came back without its last writes has a lower sequence. In both cases we do not know what was promised and
 * used, and unknown is not zero.
 */
export type UsageEpoch = {
  readonly id: string;
  /** Usage of windows that began before this moment is lost; 0 for the first epoch. */
  readonly since: EpochMs;
  /** The store has reached this sequence: data with a lower sequence are old. */
  readonly sequence: number;
  /**
   * No promise that may still be alive was made for longer than this. After a loss the follower waits this long. It
   * is raised before a longer promise is made.
   */
  readonly longestExpiryMs: number;
  /** When a promise of about that length was last made, as far as this copy knows. */
  readonly longestAt?: EpochMs;
  /** When we first noticed that the store no longer holds this epoch. */
  readonly lostAt?: EpochMs;
  /**
   * The copy was written in a different place from where it is read: it was restored, so the data may be restored as
   * well.
   */
  readonly isMoved?: true;
};

/** How far the data of an epoch have advanced. */
export type EpochMark = Pick<UsageEpoch, 'id' | 'sequence' | 'longestAt'>;

/** Port: a copy of each chain's epoch outside the usage store. It must not be lost together with the store. */
export type EpochMirror = {
  get(chainId: number): Promise<UsageEpoch | undefined>;
  /**
   * Writes `next` if the copy still equals `expected` (undefined: no copy exists); otherwise answers false. A
   * successful write marks the copy as written in this place. Throws UNAVAILABLE when the copy cannot be reached.
   */
  put(chainId: number, next: UsageEpoch, expected: UsageEpoch | undefined): Promise<boolean>;
  /**
   * Raises the copies of these chains to the marks, never lowers them; see {@link raiseEpoch}. Answers the copies as they
   * are afterwards. If someone else writes a copy at the same time, it may stay unchanged until the next call. Throws
   * UNAVAILABLE.
   */
  raise(marks: ReadonlyMap<number, EpochMark>): Promise<ReadonlyMap<number, UsageEpoch>>;
};

/** The copies of all chains, for a reader that only shows whether the data of a chain are lost. Throws UNAVAILABLE. */
export type EpochCopies = { all(): Promise<ReadonlyMap<number, UsageEpoch>> };

/** What the follower does when a usage store has lost its data. */
export type UsageRecovery = {
  /**
   * Begins a new epoch when the data of a chain are lost and every promise made with them has expired. That is the
   * longest expiry after the loss was first noticed, or immediately when `acceptedLoss` is the {@link findLossId} of
   * this loss. Until then, and for a chain whose data are there, it changes nothing. Throws UNAVAILABLE.
   */
  recover(chainId: number, acceptedLoss?: string): Promise<'intact' | 'waiting' | 'recovered'>;
};

/**
 * Names one loss by its epoch and the time when it was first noticed. So accepting one loss does not accept the next
 * one, even in the same epoch. Undefined while no loss has been noticed.
 */
export function findLossId({ id, lostAt }: UsageEpoch): string | undefined {
  return lostAt === undefined ? undefined : `${id}.${lostAt}`;
}

/** The sequence of a copy whose data must never be trusted again: no store reaches it. */
export const unreachableSequence = Number.MAX_SAFE_INTEGER;

/** The clocks of the store and of the chain may differ by this. */
export const skewMs = 120_000;

/** When every promise of a lost epoch has ended, and signing begins again; undefined while no loss has been noticed. */
export function lossEndsAt({ lostAt, longestExpiryMs }: UsageEpoch): EpochMs | undefined {
  return lostAt === undefined ? undefined : plusMs(lostAt, longestExpiryMs + skewMs);
}

/**
 * The copy after a mark. Returns the same object if nothing changes: another epoch, a restored copy, or nothing
 * higher.
 */
export function raiseEpoch(copy: UsageEpoch, mark: EpochMark): UsageEpoch {
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

/** A copy that lives as long as the process. It detects only a loss that happens during that time. */
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
        copies.set(chainId, raiseEpoch(copy, mark));
        found.set(chainId, raiseEpoch(copy, mark));
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
