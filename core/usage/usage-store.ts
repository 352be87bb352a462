import type { AddressKey } from '../units/address.js';
import type { EpochMs, EpochSeconds } from '../units/time.js';
import type { Gwei } from '../units/wei.js';
import type { Hex } from '../units/hex.js';
import type { Window } from './window.js';

/**
 * Port: counters of limits, promised deposits and reservations. Written for an embedded store and for Redis (one atomic
 * script decides; all keys of a chain in one hash slot), so every argument is plain data and amounts are gwei
 * integers or counts below 2^53. The store knows nothing of policies, cycles or modes: callers name counters and windows.
 *
 * Guarantees (one conformance suite, every implementation):
 * - `reserve` decides over everything in the request at once, all or nothing, at any concurrency. For each enforced limit
 *   used + reserved never exceeds the threshold, needs never exceed a balance, holds never exceed theirs. It resolves
 *   after the decision is durable.
 * - A reservation is keyed by (paymasterId, entryPoint, sender, nonce): only one operation of a nonce can be mined.
 *   Reserving the same key again keeps what it holds, raised to the larger amount counter by counter and account by
 *   account, adds the promise, and keeps the later `validUntil`. A refusal leaves the earlier reservation untouched.
 *   Amounts are judged without what the reservation itself holds already.
 * - Of a reservation the newest {@link keptPromises} promises are kept one by one (one per digest); older ones are folded
 *   into one entry per mode and contract. Reserving again is never refused for their number.
 * - A window that does not contain the store's time is answered `turned`; nothing is reserved. Plan again with its `now`.
 * - `fences`: a generation older than the newest seen is answered `stale`, a suspended id `suspended`; nothing is reserved.
 *   A newer one is remembered, by `reserve` as by `noteGenerations`.
 * - `advance` (the follower) is one atomic step, fenced by compare-and-set on the cursor: settlements, releases, charges,
 *   restored reservations, balances, cursor. A second call with the same cursor changes nothing and is not taken. It
 *   never fails because reservations were promised again meanwhile, and answers what it has ended, as that was then.
 * - A settled reservation adds at most what it reserved to each of its limits, whatever the operation cost.
 * - The first reason decides, in this order: turned, suspended, stale, bars in their order, limits, holds, accounts.
 * - Every method throws DomainError UNAVAILABLE when the store cannot answer, or when its data are lost (USAGE_STORE_LOST:
 *   also when they are older than what this process, or the epoch's copy, has seen). Nothing is ever assumed.
 */
export type UsageStore = {
  /** The store's time as far as this process knows it. Windows are planned by it. */
  now(): EpochMs;
  reserve(request: ReserveRequest): Promise<ReserveResult>;
  /** The verdict that `reserve` would give now, and the counters behind it; changes nothing. */
  peek(request: ReserveRequest): Promise<PeekResult>;
  /** What counters stand at, in the order of the names; one that was never written is 0 and 0. */
  counters(chainId: number, counters: readonly CounterId[]): Promise<readonly CounterState[]>;

  /** Remembers generations that are newer than those known, so that every replica refuses to sign for older ones. */
  noteGenerations(chainId: number, fences: readonly Fence[]): Promise<void>;
  /** Stops or resumes signing for an id, whatever configs say: for the platform's hand while the API server is away. */
  setSuspended(chainId: number, id: string, isSuspended: boolean): Promise<void>;
  /** Ids that are suspended so. */
  suspended(chainId: number): Promise<readonly string[]>;

  /**
   * Live reservations of a chain that the follower has to decide about: those of the query, or all of them without one
   * (for tools and tests; there may be a million).
   */
  reservations(chainId: number, query?: ReservationQuery): Promise<readonly Reservation[]>;
  /** Number of live reservations of a chain. */
  liveCount(chainId: number): Promise<number>;
  /** The most live reservations, of all chains, that the store has room for; Infinity where memory is not bounded. */
  capacity(): number;
  cursor(chainId: number): Promise<Cursor | undefined>;
  advance(step: FollowerStep): Promise<StepResult>;
  /** First balance of an account that was never read (a new funding wallet); ignored when one is known already. */
  addBalance(chainId: number, balance: AccountBalance): Promise<void>;
  /** Accounts that reservations or balances of this chain name. */
  accounts(chainId: number): Promise<readonly AccountBalance[]>;
  /** Forgets balances of accounts that nothing is promised from; the others of the list stay. */
  forgetAccounts(chainId: number, accounts: readonly AccountId[]): Promise<void>;

  /** Resolves when the store answers; for readiness. */
  ping(): Promise<void>;
  stop(): Promise<void>;
};

/** Promises of a reservation that are kept one by one. */
export const keptPromises = 16;

export type Mode = 'SPONSORED' | 'ERC20';

/** COUNT: operations. NATIVE_ASSET: gwei. Stores treat it as a name; COUNT alone is special: see {@link FollowerStep}. */
export type Unit = 'COUNT' | 'NATIVE_ASSET';

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
  /** The paymaster's generation and the chain's. */
  readonly fences: readonly Fence[];
  /** What is signed if the reservation is made. */
  readonly promise: SignedPromise;
  readonly bars: readonly Bar[];
  readonly limits: readonly LimitShare[];
  readonly holds: readonly HoldShare[];
  readonly accounts: readonly AccountShare[];
  /** Oldest balance that may be relied on; older or never read is UNAVAILABLE with reason DEPOSIT_UNKNOWN. */
  readonly depositMaxAgeMs: number;
};

/** One signature, recorded by the step that reserves for it: what a mined operation is recognised by. */
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
  /** The most that the EntryPoint takes for the operation, in wei: an operation that cost more is not this one. */
  readonly prefundWei: bigint;
  readonly validUntil: EpochSeconds;
};

/** Promises of one mode and contract of a reservation that are no longer told apart. */
export type FoldedPromises = Pick<SignedPromise, 'mode' | 'contract' | 'prefundWei' | 'validUntil'>;

/** Refuses while the settled use of a counter is above `most`. A reservation takes nothing of it. */
export type Bar = CounterId & { readonly window: Window; readonly most: number };

/** A limit: what a mined operation has spent of it stays spent until the window ends. */
export type LimitShare = CounterId & {
  readonly window: Window;
  /** COUNT: operations; NATIVE_ASSET: gwei, rounded down. */
  readonly threshold: number;
  /** COUNT: 1; NATIVE_ASSET: maximum cost in gwei, rounded up. */
  readonly cost: number;
  /** False: counted and judged, never refusing; see `over` of the result. */
  readonly enforce: boolean;
};

/** A bound of what is promised at once: all of it is free again when the reservation ends, mined or not. */
export type HoldShare = CounterId & {
  readonly cost: number;
  /** A fixed bound, or a share of the balance of one of the request's accounts (rounded down). */
  readonly threshold: number | { readonly account: number; readonly percent: number };
  /** Counters of the same unit whose settled use counts as well, e.g. the losses of the day. */
  readonly plusUsed?: readonly string[];
  /** True: one reservation passes while no other holds anything, however much it takes. */
  readonly admitsOneAlone?: true;
};

/** `contract` alone is its EntryPoint deposit; with `fundingAddress` the sponsor's balance inside the contract. */
export type AccountId = { readonly contract: AddressKey; readonly fundingAddress?: AddressKey };
export type AccountShare = AccountId & { readonly need: Gwei };
export type AccountBalance = AccountId & {
  readonly balance: Gwei | undefined;
  /** Sum of live needs. */
  readonly reserved: Gwei;
  readonly readAt: EpochMs | undefined;
};

export type ReserveResult =
  | {
      readonly outcome: 'reserved';
      /** Indexes of limits without `enforce` that are now above their threshold; absent: none. */
      readonly over?: readonly number[];
    }
  | { readonly outcome: 'turned'; readonly now: EpochMs }
  | { readonly outcome: 'stale'; readonly id: string }
  | ReserveRefusal;

/** `index` is that of the request's bars, limits, holds or accounts, as the outcome says. */
export type ReserveRefusal =
  | { readonly outcome: 'suspended'; readonly id: string }
  | { readonly outcome: 'barred'; readonly index: number; readonly used: number }
  /** `used`: settled, and reserved by others. */
  | { readonly outcome: 'limit'; readonly index: number; readonly used: number }
  /** The window began before the data were lost, so its use is unknown, and unknown is not zero. */
  | { readonly outcome: 'usage-lost'; readonly index: number }
  /** `taken`: held by others, and the settled use that counts as well; `most`: the threshold in force. */
  | { readonly outcome: 'held'; readonly index: number; readonly taken: number; readonly most: number }
  | {
      readonly outcome: 'deposit';
      readonly index: number;
      readonly balance: number;
      readonly reserved: number;
    };

export type PeekResult = {
  readonly result: ReserveResult;
  /** Per limit of the request, without what the reservation itself holds. */
  readonly limits: readonly CounterState[];
  readonly holds: readonly { readonly taken: number; readonly most: number }[];
  readonly accounts: readonly AccountBalance[];
};

/** Union of two kinds, each reservation once. */
export type ReservationQuery = {
  /** Every reservation of these operations, whichever paymaster promised it. */
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
  /** The latest of all promises. */
  readonly validUntil: EpochSeconds;
  readonly limits: readonly (CounterId & { readonly until: EpochMs; readonly cost: number })[];
  readonly holds: readonly (CounterId & { readonly cost: number })[];
  readonly accounts: readonly AccountShare[];
};

export type Cursor = {
  readonly blockNumber: number;
  readonly blockHash: Hex;
  readonly timestamp: EpochSeconds;
};

/**
 * Keys that no reservation has are ignored. What is decided twice in a step is decided by its first mention. Carried out
 * in this order: restored, settled, released, forfeited, charges, balances; so what a new block has mined again may be
 * restored and settled in one step.
 */
export type FollowerStep = {
  readonly chainId: number;
  /** Undefined when there is none yet. */
  readonly expected: Cursor | undefined;
  readonly next: Cursor;
  /**
   * Reservations whose operation was mined, also by promises added since they were read. Each of its limits moves from
   * the reserved cost to min(actualCost, cost); one of unit COUNT keeps its cost. Undefined `actualCost`: nothing is
   * spent (a token payment). Holds and deposits are free again.
   */
  readonly settled: readonly { readonly key: ReservationKey; readonly actualCost: Gwei | undefined }[];
  /**
   * Nothing of them is spent. With `validUntil`: ignored where the reservation was promised again since, and so has a
   * later one. Without: whatever was promised since (its nonce is used, or another paymaster paid).
   */
  readonly released: readonly { readonly key: ReservationKey; readonly validUntil?: EpochSeconds }[];
  /** Deposits and holds of these are free again, their limits keep the reserved cost until the window ends. */
  readonly forfeited: readonly { readonly key: ReservationKey }[];
  /** Added to the settled use of counters (never below 0): losses, and corrections after a reorganisation. */
  readonly charges: readonly Charge[];
  /** Reservations that an earlier step ended in blocks that no longer exist: live again, whatever thresholds say. */
  readonly restored: readonly Reservation[];
  readonly balances: readonly (AccountId & { readonly balance: Gwei; readonly readAt: EpochMs })[];
};

/** Not taken: the cursor was not the expected one, and nothing has changed. */
export type StepResult =
  | { readonly isTaken: false }
  | {
      readonly isTaken: true;
      /** Reservations that the step has ended, each once, with every promise that was added since they were read. */
      readonly ended: readonly Reservation[];
    };

export type Charge = CounterId & { readonly until: EpochMs; readonly amount: number };
