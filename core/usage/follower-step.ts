import type { Hex } from '../units/hex.js';
import type { EpochMs, EpochSeconds } from '../units/time.js';
import type { Gwei } from '../units/wei.js';
import type {
  AccountId,
  CounterId,
  OperationId,
  Reservation,
  ReservationKey,
  StepRecord,
} from './reservation.js';

/** A record that a turn has made. `reservation`: id of the first record of the reservation that it is about. */
export type AddedRecord = { readonly record: StepRecord; readonly reservation: string | undefined };

/** The union of two selections; each reservation is answered once. */
export type ReservationQuery = {
  /** Every reservation of these operations, no matter which paymaster promised it. */
  readonly operations: readonly OperationId[];
  /** Those whose `validUntil` is before this moment, at most `limit` of them, the oldest first. */
  readonly expiredBefore: EpochSeconds;
  readonly limit: number;
};

export type Cursor = {
  readonly blockNumber: number;
  readonly blockHash: Hex;
  readonly timestamp: EpochSeconds;
};

/**
 * Keys without a reservation are ignored. A commit ends with its reservation, and takes no part in its settlement: a
 * reservation without a promise spends nothing and is not answered. If a step decides a key twice, the first mention counts. The order is:
 * restored, settled, released, forfeited, charges, balances. So one step can restore and settle an operation that a
 * new block has mined again.
 */
export type FollowerStep = {
  readonly chainId: number;
  /** Undefined before the first step. */
  readonly expected: Cursor | undefined;
  readonly next: Cursor;
  /**
   * Reservations whose operation was mined, even by a promise that was added after the follower read them. Each limit
   * moves from the reserved cost to the amount that its unit counts as spent, which is never more: see `units.ts`. Undefined
   * `actualCost`: nothing is spent (a token payment). Holds and deposits become free.
   */
  readonly settled: readonly {
    readonly key: ReservationKey;
    readonly actualCost: Gwei | undefined;
    /** Written to the ledger with the reservation's `recordId`, if the step ends it; likewise below. */
    readonly record?: StepRecord;
  }[];
  /**
   * Reservations that spend nothing. With `validUntil`: ignored if a new promise has since given the reservation a
   * later one. Without it: released whatever was promised since (the nonce is used, or another paymaster paid).
   */
  readonly released: readonly {
    readonly key: ReservationKey;
    readonly validUntil?: EpochSeconds;
    readonly record?: StepRecord;
  }[];
  /** The deposits and holds of these become free; their limits keep the reserved cost until the window ends. */
  readonly forfeited: readonly { readonly key: ReservationKey; readonly record?: StepRecord }[];
  /** Added to the settled use of counters (never below 0): losses, and corrections after a reorganisation. */
  readonly charges: readonly Charge[];
  /**
   * Reservations that an earlier step ended because of blocks that no longer exist. They become live again, whatever
   * thresholds say.
   */
  readonly restored: readonly Reservation[];
  /**
   * A step that takes others back: all steps that ended after this block (-1: all steps) are forgotten, and this one is not
   * kept. It ends no reservations. Absent: the step is kept.
   */
  readonly takesBackAfter?: number;
  /** Records about restored reservations, and about the blocks of the step. Default: none. */
  readonly records?: readonly AddedRecord[];
  readonly balances: readonly (AccountId & { readonly balance: Gwei; readonly readAt: EpochMs })[];
  /** As of a {@link ReserveRequest}. */
  readonly ordered?: true;
};

/** Not taken means: the cursor was not the expected one, and nothing has changed. */
export type StepResult =
  | { readonly isTaken: false }
  | {
      readonly isTaken: true;
      /** Reservations that the step ended, each once, including promises added after the follower read them. */
      readonly ended: readonly Reservation[];
      /** Where what it restored, and each of `ended`, comes among all decisions and steps; absent: it was not asked for. */
      readonly orders?: { readonly restored: number; readonly ended: readonly number[] };
    };

export type Charge = CounterId & { readonly until: EpochMs; readonly amount: number };

/** A step that a store has taken, with what is needed to take it back. */
export type TakenStep = {
  /** Where it began; undefined for the first step ever. */
  readonly from: Cursor | undefined;
  readonly next: Cursor;
  readonly ended: readonly EndedReservation[];
  readonly charges: readonly Charge[];
};

/** How a step ended a reservation, which is shown as it was at that moment. */
export type EndedReservation = {
  readonly reservation: Reservation;
  readonly how: 'settled' | 'released' | 'forfeited';
  /** Of a settled one. Undefined: nothing was spent (a token payment). */
  readonly actualCost: Gwei | undefined;
};
