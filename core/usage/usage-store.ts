import type { AddressKey } from '../units/address.js';
import type { EpochMs, EpochSeconds } from '../units/time.js';
import type { Gwei } from '../units/wei.js';
import type { Hex } from '../units/hex.js';
import type { Taken } from './unit.js';
import type { Unit } from './units.js';
import type { Window } from './window.js';

/**
 * Port: counters of limits, promised deposits and reservations. Every argument is plain data, and amounts are integers
 * below 2^53 in the unit of each. The store does not know policies, cycles or modes: callers name the
 * counters and windows.
 *
 * Guarantees (every implementation passes one conformance suite):
 * - `reserve` decides everything in the request together, all or nothing, at any concurrency. For each enforced
 *   limit, used + reserved never exceeds the threshold; needs never exceed a balance; holds never exceed their
 *   threshold. It resolves after the decision is durable.
 * - The key of a reservation is (paymasterId, entryPoint, sender, nonce), because only one operation with a given
 *   nonce can be mined. Reserving the same key again keeps what it holds, raised to the larger amount for each
 *   counter and each account, adds the promise, and keeps the later `validUntil`. A refusal leaves the earlier
 *   reservation untouched. The store judges amounts without what the reservation itself already holds.
 * - The store keeps the newest {@link keptPromises} promises of a reservation one by one (one per digest). It folds
 *   older ones into one entry per mode and contract. It never refuses to reserve again because of their number.
 * - When a window of the request does not contain the store's time, the outcome is `turned` and nothing is reserved.
 *   Plan again with the `now` of the answer.
 * - `fences`: for a generation older than the newest seen the outcome is `stale`, for a suspended id `suspended`;
 *   nothing is reserved. `reserve` and `noteGenerations` both remember a newer generation.
 * - `advance` (called by the follower) is one atomic step, guarded by compare-and-set on the cursor: settlements,
 *   releases, charges, restored reservations, balances, cursor. A second call with the same cursor changes nothing
 *   and is not taken. The step never fails because a reservation got another promise meanwhile. It answers the
 *   reservations that it ended, as they were at that moment.
 * - What a step ended and charged is kept in the same atomic step, so that whichever process follows the chain next can
 *   take it back after a reorganisation. See `takenSteps`.
 * - A settled reservation adds to each of its limits at most what it had reserved, whatever the operation cost.
 * - `phase`: a commit takes what a promise would take, and records no promise, since nothing is signed yet. It ends
 *   after {@link commitMs}, or at the promise's `validUntil` if that is earlier. A finalize is a reservation that
 *   passes only while the last commit of its operation is open and has the same commitment. So there is at most one
 *   promise per commit, it is never made without a reservation, and whatever has changed since the commit (fences,
 *   windows, balances) is decided again. Finalizing once more answers the same while the commit's time is not over.
 * - A sender has one open commit per nonce key (the upper 192 bits) and {@link openCommitsPerSender} in all, for each
 *   paymaster and EntryPoint. A newer commit replaces an older one. Refusing the newer one would let anybody lock an
 *   account out, because anybody can commit for any sender.
 * - What a commit holds beyond the promises of its operation becomes free at the first `dropCommits` after it is over,
 *   or when its reservation ends. A commit that was replaced for the same operation keeps its amounts until then.
 * - A record is added to the feed of the ledger exactly once, in the step that it records. A refusal, a finalize that
 *   was finalized before, a step that is not taken, and an ending of a reservation for which nothing was signed add
 *   nothing. Records of a step follow its order, those of restored reservations first.
 * - The first reason decides, in this order: turned, suspended, stale, bars in their order, limits, holds, accounts,
 *   not-committed.
 * - Every method throws DomainError UNAVAILABLE when the store cannot answer, or when its data are lost
 *   (USAGE_STORE_LOST: also when they are older than what this process, or the copy of the epoch, has seen). The
 *   store never assumes a value that it does not know.
 */
export type UsageStore = {
  /** The store's time as far as this process knows it. Callers plan windows by it. */
  now(): EpochMs;
  reserve(request: ReserveRequest): Promise<ReserveResult>;
  /** The verdict that `reserve` would give now, and the counters behind it; changes nothing. */
  peek(request: ReserveRequest): Promise<PeekResult>;
  /**
   * Takes back a promise for which certainly no signature exists: the reservation ends and frees everything, if this is the only
   * promise that was ever made for it, was made once, and no commit is kept. Otherwise nothing changes, since what the reservation
   * holds may back a signature.
   */
  takeBack(promise: UnsignedPromise): Promise<TakeBackResult>;
  /** Frees what commits hold whose time is over, and answers how many of them were never finalized. */
  dropCommits(chainId: number): Promise<number>;
  /** The state of counters, in the order of the names; a counter that was never written is 0 used and 0 reserved. */
  counters(chainId: number, counters: readonly CounterId[]): Promise<readonly CounterState[]>;

  /** Remembers generations that are newer than those known, so that every replica refuses to sign for older ones. */
  noteGenerations(chainId: number, fences: readonly Fence[]): Promise<void>;
  /**
   * Stops or resumes signing for an id, whatever the configs say. The platform uses it while the API server is down.
   */
  setSuspended(chainId: number, id: string, isSuspended: boolean): Promise<void>;
  /** Ids that `setSuspended` has suspended. */
  suspended(chainId: number): Promise<readonly string[]>;

  /**
   * Live reservations of a chain that the follower has to decide about: those that match the query, or all of them
   * without a query (for tools and tests; there may be a million).
   */
  reservations(chainId: number, query?: ReservationQuery): Promise<readonly Reservation[]>;
  /** Number of live reservations of a chain. */
  liveCount(chainId: number): Promise<number>;
  /** The most live reservations, of all chains, that the store has room for; Infinity where memory is not bounded. */
  capacity(): number;
  cursor(chainId: number): Promise<Cursor | undefined>;
  advance(step: FollowerStep): Promise<StepResult>;
  /**
   * The last steps that were taken and not taken back, the oldest first, without a gap and up to the cursor. A step that changed
   * nothing at the same block is not among them. Bounded: see taken-step.ts.
   */
  takenSteps(chainId: number): Promise<readonly TakenStep[]>;
  /**
   * Stores the first balance of an account that was never read (a new funding wallet). Ignored when a balance is
   * already known.
   */
  addBalance(chainId: number, balance: AccountBalance): Promise<void>;
  /** Accounts that reservations or balances of this chain name. */
  accounts(chainId: number): Promise<readonly AccountBalance[]>;
  /** Forgets the balances of the listed accounts that have no live reservation; the other accounts of the list stay. */
  forgetAccounts(chainId: number, accounts: readonly AccountId[]): Promise<void>;

  /** Resolves when the store answers; for readiness. */
  ping(): Promise<void>;
  stop(): Promise<void>;
};

/**
 * Shows what is stored now, to people. A process that promises nothing keeps no copy of the epoch, so it cannot tell
 * whether the data are lost, and must not begin an epoch.
 */
export type UsageReading = Pick<UsageStore, 'now' | 'counters' | 'accounts' | 'cursor'>;

/** How many promises of a reservation are kept one by one. */
export const keptPromises = 16;

/** How long a commit can be finalized, at most. */
export const commitMs = 60_000;
/** Open commits of a sender, for one paymaster and EntryPoint. */
export const openCommitsPerSender = 4;

export type Mode = 'SPONSORED' | 'ERC20';

export type ReservationKey = {
  readonly chainId: number;
  readonly paymasterId: string;
  readonly entryPoint: AddressKey;
  readonly sender: AddressKey;
  /** Full 256-bit nonce. */
  readonly nonce: bigint;
};

/** A config's generation: `id` is a paymasterId, or {@link chainFence} for the chain's own. */
export type Fence = { readonly id: string; readonly generation: number };
export const chainFence = 'chain';

/** Names a counter of a chain. Any text without control characters; the unit is part of the identity. */
export type CounterId = { readonly counter: string; readonly unit: Unit };
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

/** See {@link orderOf}; absent: it was not asked for. */
export type Ordered = { readonly order?: number };

/** A record of the ledger, see `LedgerRecord` of `core/ledger`. What is decided here does not depend on it. */
export type StepRecord = { readonly kind: string; readonly id: string };

/** The policies of the limits come first, in their order: those that would refuse are known in the step only. */
export type PromiseRecord = StepRecord & {
  readonly policies?: readonly { readonly policyId: string; readonly effect: string }[];
};

/** A record that a turn has made. `reservation`: id of the first record of the reservation that it is about. */
export type AddedRecord = { readonly record: StepRecord; readonly reservation: string | undefined };

export type UnsignedPromise = Pick<ReserveRequest, 'key' | 'ordered'> & {
  readonly digest: Hex;
  /** Written to the ledger with the reservation's `recordId`, if it ends. */
  readonly record?: StepRecord;
};

/** Only an ending has a place. */
export type TakeBackResult = Ordered & { readonly isFree: boolean };

/** One signature. The step that reserves for it also records it, so that the mined operation can be recognised. */
export type SignedPromise = {
  /** First 16 bytes of what the paymaster signs (the contract's hash), as hex. */
  readonly digest: Hex;
  readonly mode: Mode;
  /** The paymaster contract that will be charged. */
  readonly contract: AddressKey;
  /** Wallet written into the data, where the layout has one; in mode ERC20 the balance that pays. */
  readonly fundingAddress?: AddressKey;
  /** Mode ERC20. */
  readonly token?: AddressKey;
  /** The most that the EntryPoint takes for the operation, in wei. A mined operation that cost more is not this one. */
  readonly prefundWei: bigint;
  readonly validUntil: EpochSeconds;
  /** Operation hashes that were known when it was recorded; see `operation-hashes.ts`. Absent: none. */
  readonly hashes?: Hex;
  /** Set by the store when the same promise was made more than once: each of them may have been signed. */
  readonly isRepeated?: true;
};

/** Older promises of a reservation, of one mode and one contract, kept as a single entry. */
export type FoldedPromises = Pick<SignedPromise, 'mode' | 'contract' | 'prefundWei' | 'validUntil'>;

/** Refuses while the settled use of a counter is above `most`. A reservation adds nothing to that counter. */
export type Bar = CounterId & { readonly window: Window; readonly most: number };

/** A limit: what a mined operation has spent of it stays spent until the window ends. */
export type LimitShare = CounterId &
  Taken & {
    readonly window: Window;
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
};

/**
 * `contract` alone is the contract's EntryPoint deposit; with `fundingAddress` it is the sponsor's balance inside the
 * contract.
 */
export type AccountId = { readonly contract: AddressKey; readonly fundingAddress?: AddressKey };
export type AccountShare = AccountId & { readonly need: Gwei };
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

/** The union of two selections; each reservation is answered once. */
export type ReservationQuery = {
  /** Every reservation of these operations, no matter which paymaster promised it. */
  readonly operations: readonly OperationId[];
  /** Those whose `validUntil` is before this moment, at most `limit` of them, the oldest first. */
  readonly expiredBefore: EpochSeconds;
  readonly limit: number;
};

/** Names an operation of a chain: only one with this EntryPoint, sender and nonce can ever be mined. */
export type OperationId = Pick<ReservationKey, 'entryPoint' | 'sender' | 'nonce'>;

export type Reservation = {
  readonly key: ReservationKey;
  /** The newest first. */
  readonly promises: readonly SignedPromise[];
  readonly folded: readonly FoldedPromises[];
  /** The latest `validUntil` of all its promises. */
  readonly validUntil: EpochSeconds;
  readonly limits: readonly (CounterId & Taken & { readonly until: EpochMs })[];
  readonly holds: readonly (CounterId & { readonly cost: number })[];
  readonly accounts: readonly AccountShare[];
  /** The last commit of the operation, until `dropCommits`; absent: none. */
  readonly commit?: Commit;
  /**
   * Id of the first record that was added for it; absent: none. Records about how it ends name it. If two
   * reservations become one because an ended one is restored, the smaller id stays.
   */
  readonly recordId?: string;
};

/** Its amounts are part of those of its reservation. */
export type Commit = {
  /** Identifies what was committed; chosen by the caller. */
  readonly commitment: Hex;
  /** Its end; a commit that was replaced by one of another nonce is over earlier. */
  readonly until: EpochMs;
  /** True once it was finalized. */
  readonly isSigned: boolean;
  /** What the promises of the reservation hold without the commit; absent: nothing was signed. */
  readonly signed?: Pick<Reservation, 'validUntil' | 'limits' | 'holds' | 'accounts'>;
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
  /** Undefined when there is no cursor yet. */
  readonly expected: Cursor | undefined;
  readonly next: Cursor;
  /**
   * Reservations whose operation was mined, even by a promise that was added after the follower read them. Each limit
   * moves from the reserved cost to what its unit says was spent, which is never more: see `units.ts`. Undefined
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
  /** Records about restored reservations. Default: none. */
  readonly restoredRecords?: readonly AddedRecord[];
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
