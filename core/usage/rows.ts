import type { EpochMs } from '../units/time.js';
import type { Gwei } from '../units/wei.js';
import type { StepProgress } from './step-parts.js';
import type { AddedRecord, Cursor, FollowerStep, TakenStep } from './follower-step.js';
import type { AccountId, CounterId, Reservation, ReservationKey } from './reservation.js';

// What a usage store keeps. Rows are values: a turn works on copies and answers new rows, and a store changes its
// own only when they are durable.

export type CounterRow = CounterId & {
  /** The end of its window; 0 while only holds use it, because holds have no window. */
  readonly until: EpochMs;
  /** Settled use. */
  readonly used: number;
  /** Sum of what live reservations hold of it. */
  readonly reserved: number;
  /** Number of reservations that hold it, also with a cost of 0. */
  readonly holders: number;
};

/** Balance of a contract in the EntryPoint, or of a funding wallet inside the contract. */
export type AccountRow = AccountId & {
  readonly balance: Gwei | undefined;
  readonly readAt: EpochMs | undefined;
  /** Sum of the needs of live reservations. */
  readonly reserved: number;
  readonly holders: number;
};

/** The newest generation seen for an id, and whether the id is suspended. */
export type FenceRow = {
  readonly id: string;
  readonly generation: number;
  /** When a request last named it, rounded to the day. */
  readonly seenAt: EpochMs;
  readonly isSuspended: boolean;
};

export type ChainRow = {
  readonly cursor: Cursor | undefined;
  /** Usage of windows that began before this moment is lost; 0: of none. */
  readonly since: number;
  /** Windows that ended before this moment may have been forgotten, with their use. */
  readonly forgottenUntil: number;
  /** The step of the follower that has begun and not ended; undefined: none. */
  readonly open: StepProgress | undefined;
};

/** Rows of one chain as a turn begins. They belong to the turn alone until it ends. */
export type RowSource = {
  readonly chain: ChainRow;
  /** The write's place among all writes of the chain; see `toOrder`. */
  readonly sequence: number;
  /** The first place of this turn's decisions in that write. */
  readonly place: number;
  counter(id: CounterId): CounterRow | undefined;
  account(id: AccountId): AccountRow | undefined;
  fence(id: string): FenceRow | undefined;
  reservation(key: ReservationKey): Reservation | undefined;
  /** Reservations with a commit, of the sender of this key, for its paymaster and EntryPoint. */
  committed(key: ReservationKey): readonly Reservation[];
};

/** What a turn has changed. Rows that are empty are deleted: see {@link isEmptyCounter} and {@link isEmptyAccount}. */
export type RowChanges = {
  readonly chain: ChainRow;
  readonly counters: readonly CounterRow[];
  readonly accounts: readonly AccountRow[];
  readonly fences: readonly FenceRow[];
  readonly reservations: readonly Reservation[];
  /** Reservations that have ended; none of them is in `reservations`. */
  readonly ended: readonly ReservationKey[];
  /** For the ledger, in their order. */
  readonly records: readonly AddedRecord[];
  /** Steps that were taken, and blocks after which steps are forgotten, in their order. */
  readonly steps: readonly StepChange[];
  /** A long step that has begun: stored until `chain.open` is undefined. Absent: none has. */
  readonly begun?: FollowerStep;
};

/** `isContinued`: a further part of the step before it. */
export type StepChange = (TakenStep & { readonly isContinued?: true }) | { readonly takesBackAfter: number };

/** A counter that was never written is 0, so a row that is 0 and that nobody holds says nothing. */
export function isEmptyCounter({ used, holders }: CounterRow): boolean {
  return used === 0 && holders === 0;
}

export function isEmptyAccount({ balance, holders }: AccountRow): boolean {
  return balance === undefined && holders === 0;
}
