import type { AddressKey } from '../units/address.js';
import type { EpochMs, EpochSeconds } from '../units/time.js';
import type { Gwei } from '../units/wei.js';
import type { Hex } from '../units/hex.js';

/**
 * Port: counters of spending limits, promised deposits and reservations. Written for an embedded store and for Redis
 * (one atomic script per request; all keys of a chain in one hash slot), so every argument is plain data and amounts
 * are gwei integers or counts.
 *
 * Guarantees (one conformance suite, every implementation):
 * - `reserve` decides over all limits and accounts of a request at once, all or nothing, at any concurrency; used plus
 *   reserved never exceeds a threshold and needs never exceed a balance. It resolves after the decision is durable.
 * - A reservation is keyed by (paymasterId, entryPoint, sender, nonce). Reserving the same key again keeps what it
 *   holds: a counter that it does not hold yet is reserved in full, one that it holds is raised to the larger cost, the
 *   later `validUntil` counts; on refusal the earlier reservation stands untouched.
 * - A counter is (policyId, cycle start, window, subject); window = max(0, floor((now - startMs) / durationMs)), by the
 *   store's clock. Another cycle start is another counter, so a reset deletes nothing.
 * - `configGeneration` older than the newest seen for the paymaster is answered `stale`, and nothing is reserved.
 * - `advance` (the follower) is one atomic step, fenced by compare-and-set on the cursor: settlements, releases,
 *   balances, cursor; a second call with the same cursor changes nothing and answers false.
 * - The first reason decides, in this order: stale, limits in their order, accounts in theirs.
 * - Every method throws DomainError UNAVAILABLE when the store cannot answer; nothing is ever assumed.
 */
export type UsageStore = {
  reserve(request: ReserveRequest): Promise<ReserveResult>;
  /** The verdict that `reserve` would give now; changes nothing. Shows counters for explain. */
  peek(request: ReserveRequest): Promise<PeekResult>;
  /** Adds the userOpHash that was signed for a reservation; best effort, used only to tell rivals apart. */
  noteSigned(key: ReservationKey, userOpHash: Hex): void;

  /**
   * Live reservations of a chain that the follower has to decide about: those of the query, or all of them without one
   * (for tools and tests; there may be a million).
   */
  reservations(chainId: number, query?: ReservationQuery): Promise<readonly Reservation[]>;
  /** Number of live reservations of a chain. */
  liveCount(chainId: number): Promise<number>;
  cursor(chainId: number): Promise<Cursor | undefined>;
  advance(step: FollowerStep): Promise<boolean>;
  /** First balance of an account that was never read (a new funding wallet); ignored when one is known already. */
  addBalance(chainId: number, balance: AccountBalance): Promise<void>;
  /** Accounts that reservations or balances of this chain name, so that the follower reads them. */
  accounts(chainId: number): Promise<readonly AccountBalance[]>;

  putFundingMessage(paymasterId: string, message: string, expiresAt: EpochMs): Promise<void>;
  getFundingMessage(paymasterId: string): Promise<string | undefined>;
  /** True once, for the message that is live now; used up by it. */
  consumeFundingMessage(paymasterId: string, message: string): Promise<boolean>;

  /** Resolves when the store answers; for readiness. */
  ping(): Promise<void>;
  stop(): Promise<void>;
};

export type ReservationKey = {
  readonly chainId: number;
  readonly paymasterId: string;
  readonly entryPoint: AddressKey;
  readonly sender: AddressKey;
  /** Full 256-bit nonce. */
  readonly nonce: bigint;
};

export type ReserveRequest = {
  readonly key: ReservationKey;
  readonly configGeneration: number;
  /** The paymaster contract that will be charged. */
  readonly contract: AddressKey;
  readonly mode: 'SPONSORED' | 'ERC20';
  /** Funding wallet written into the data, where the layout has one. */
  readonly fundingAddress: AddressKey | undefined;
  readonly limits: readonly LimitShare[];
  readonly accounts: readonly AccountShare[];
  readonly validUntil: EpochSeconds;
  /** Oldest balance that may be relied on; older or never read is UNAVAILABLE with reason DEPOSIT_UNKNOWN. */
  readonly depositMaxAgeMs: number;
  /** The same object with each request of a paymaster's record: a store may keep there what it has found. */
  readonly memo?: UsageMemo;
};

/** What a store found for an earlier request, for the store alone to read: it must belong to this request and to this store. */
export type UsageMemo = { found: object | undefined };

export type LimitShare = {
  readonly policyId: string;
  readonly startMs: EpochMs;
  readonly durationMs: number;
  /** `''` for a limit of scope PAYMASTER, else the sender. */
  readonly subject: AddressKey | '';
  /** COUNT: operations; NATIVE_ASSET: gwei, rounded down. */
  readonly threshold: number;
  /** COUNT: 1; NATIVE_ASSET: maximum cost in gwei, rounded up. */
  readonly cost: number;
  readonly unit: 'COUNT' | 'NATIVE_ASSET';
  /** Where a lost store leaves its use unknown it counts from zero, and refuses nothing. Default: it refuses (usage-lost). */
  readonly startsOverWhenLost?: true;
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

export type ReserveResult = { readonly outcome: 'reserved' } | { readonly outcome: 'stale' } | ReserveRefusal;

export type ReserveRefusal =
  | {
      readonly outcome: 'limit';
      /** Index into the request's limits of the first one that is full. */
      readonly index: number;
      readonly used: number;
      readonly resetsAt: EpochMs;
    }
  | { readonly outcome: 'usage-lost'; readonly index: number; readonly resetsAt: EpochMs }
  | {
      readonly outcome: 'deposit';
      /** Index into the request's accounts. */
      readonly index: number;
      readonly balance: number;
      readonly reserved: number;
    };

export type PeekResult = {
  readonly result: ReserveResult;
  /** Per limit of the request: used plus reserved by others, and when its window ends. */
  readonly limits: readonly { readonly used: number; readonly window: number; readonly resetsAt: EpochMs }[];
  readonly accounts: readonly AccountBalance[];
};

/** Union of two kinds, each reservation once. */
export type ReservationQuery = {
  /** Mined operations: every reservation of them, whichever paymaster promised it. */
  readonly operations: readonly Pick<ReservationKey, 'entryPoint' | 'sender' | 'nonce'>[];
  /** Those whose `validUntil` is before this moment, at most `limit` of them. */
  readonly expiredBefore: EpochSeconds;
  readonly limit: number;
};

export type Reservation = {
  readonly key: ReservationKey;
  readonly contract: AddressKey;
  readonly mode: 'SPONSORED' | 'ERC20';
  readonly fundingAddress: AddressKey | undefined;
  readonly validUntil: EpochSeconds;
  readonly userOpHash: Hex | undefined;
  readonly limits: readonly {
    readonly counter: string;
    readonly unit: LimitShare['unit'];
    readonly cost: number;
  }[];
  readonly accounts: readonly AccountShare[];
};

export type Cursor = {
  readonly blockNumber: number;
  readonly blockHash: Hex;
  readonly timestamp: EpochSeconds;
};

export type FollowerStep = {
  readonly chainId: number;
  /** Undefined when there is none yet. */
  readonly expected: Cursor | undefined;
  readonly next: Cursor;
  /** Mined operations: counters move from the reserved cost to `actualCost` (COUNT stays 1). Unknown keys are ignored. */
  readonly settled: readonly { readonly key: ReservationKey; readonly actualCost: Gwei }[];
  /** Ignored where the reservation was promised again since, and so has a later `validUntil` than this. */
  readonly released: readonly { readonly key: ReservationKey; readonly validUntil: EpochSeconds }[];
  readonly balances: readonly (AccountId & { readonly balance: Gwei; readonly readAt: EpochMs })[];
};
