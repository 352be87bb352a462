import type { Hex } from '../units/hex.js';
import type { EpochMs } from '../units/time.js';
import type { Gwei } from '../units/wei.js';
import type {
  AccountId,
  AccountShare,
  CounterId,
  ReservationKey,
  SignedPromise,
  StepRecord,
} from './reservation.js';
import type { LimitWindow } from './limit-window.js';
import type { Taken } from './unit.js';
import type { Window } from './window.js';

/** A config's generation: `id` is a paymasterId, or {@link chainFence} for the chain's own. */
export type Fence = { readonly id: string; readonly generation: number };

export const chainFence = 'chain';

export type CounterState = { readonly used: number; readonly reserved: number };

export type ReserveRequest = {
  readonly key: ReservationKey;
  /** What the ledger keeps of it; written in the same atomic step, if the reservation is made. */
  readonly record?: PromiseRecord;
  /** The paymaster's generation and the chain's. */
  readonly fences: readonly Fence[];
  /** What the paymaster signs if the reservation is made; in phase `commit`, what it would sign at the finalize. */
  readonly promise: SignedPromise;
  /** Absent: the promise is signed at once. */
  readonly phase?: { readonly kind: 'commit' | 'finalize'; readonly commitment: Hex };
  readonly bars: readonly Bar[];
  readonly limits: readonly LimitShare[];
  readonly holds: readonly HoldShare[];
  readonly accounts: readonly AccountShare[];
  /**
   * The greatest age of a balance that may be relied on. Older or never read: UNAVAILABLE with reason
   * DEPOSIT_UNKNOWN.
   */
  readonly depositMaxAgeMs: number;
  /** The answer names its place among all decisions and steps of the chain. */
  readonly ordered?: true;
};

/** See {@link toOrder}; absent: it was not asked for. */
type Ordered = { readonly order?: number };

/** The policies of the limits come first, in their order: those that would refuse are known in the step only. */
export type PromiseRecord = StepRecord & {
  readonly policies?: readonly { readonly policyId: string; readonly effect: string }[];
};

export type UnsignedPromise = Pick<ReserveRequest, 'key' | 'ordered'> & {
  readonly digest: Hex;
  /** Written to the ledger with the reservation's `recordId`, if it ends. */
  readonly record?: StepRecord;
};

/** Only an ending has a place. */
export type TakeBackResult = Ordered & { readonly isFree: boolean };

/** Refuses while the settled use of a counter is above `most`. A reservation adds nothing to that counter. */
export type Bar = CounterId & { readonly window: Window; readonly most: number };

/** A limit: what a mined operation has spent of it stays spent until the window ends. */
export type LimitShare = CounterId &
  Taken & {
    readonly window: Window & Pick<LimitWindow, 'keptUntil'>;
    /** As the unit counts, rounded down. */
    readonly threshold: number;
    /** False: the limit counts and is judged, but never refuses; see `over` of the result. */
    readonly enforce: boolean;
  };

/** A bound on what is promised at the same time. All of it is free again when the reservation ends, mined or not. */
export type HoldShare = CounterId & {
  readonly cost: number;
  /** A fixed bound, or a share of the balance of one of the request's accounts (rounded down). */
  readonly threshold: number | { readonly account: number; readonly percent: number };
  /** Counters of the same unit whose settled use counts as well, e.g. the losses of the day. */
  readonly plusUsed?: readonly string[];
  /** True: one reservation passes while no other holds anything, however much it takes. */
  readonly admitsOneAlone?: true;
  /** Place of the limit without `enforce` that the bound belongs to: it never refuses, see `overHolds` of the result. */
  readonly ofUnenforced?: number;
};

export type AccountBalance = AccountId & {
  readonly balance: Gwei | undefined;
  /** Sum of the needs of live reservations. */
  readonly reserved: Gwei;
  readonly readAt: EpochMs | undefined;
};

export type ReserveResult = Ordered &
  (
    | {
        readonly outcome: 'reserved';
        /** Indexes of limits without `enforce` that are now above their threshold; absent: none. */
        readonly over?: readonly number[];
        /** Indexes of holds of such limits that are now above their threshold; absent: none. */
        readonly overHolds?: readonly number[];
      }
    | { readonly outcome: 'turned'; readonly now: EpochMs }
    | { readonly outcome: 'stale'; readonly id: string }
    | ReserveRefusal
  );

/** `index` counts in the request's bars, limits, holds or accounts, depending on the outcome. */
export type ReserveRefusal =
  | { readonly outcome: 'suspended'; readonly id: string }
  | { readonly outcome: 'barred'; readonly index: number; readonly used: number }
  /** `used`: the settled use plus what other reservations hold. */
  | { readonly outcome: 'limit'; readonly index: number; readonly used: number }
  /** The window began before the data were lost, so its use is unknown, and unknown is not zero. */
  | { readonly outcome: 'usage-lost'; readonly index: number }
  /** `taken`: what other reservations hold plus the settled use that counts as well. `most`: the threshold in force. */
  | { readonly outcome: 'held'; readonly index: number; readonly taken: number; readonly most: number }
  | {
      readonly outcome: 'deposit';
      readonly index: number;
      readonly balance: number;
      readonly reserved: number;
    }
  /** Of a finalize: the commit is over, was replaced, or was made for something else. */
  | { readonly outcome: 'not-committed' };

export type PeekResult = {
  readonly result: ReserveResult;
  /** One per limit of the request, without what the reservation itself holds. */
  readonly limits: readonly CounterState[];
  readonly holds: readonly { readonly taken: number; readonly most: number }[];
  readonly accounts: readonly AccountBalance[];
};
