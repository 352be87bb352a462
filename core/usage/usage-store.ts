import type { EpochMs } from '../units/time.js';
import type { Cursor, FollowerStep, ReservationQuery, StepResult, TakenStep } from './follower-step.js';
import type { AccountId, CounterId, Reservation } from './reservation.js';
import type {
  AccountBalance,
  CounterState,
  Fence,
  PeekResult,
  ReserveRequest,
  ReserveResult,
  TakeBackResult,
  UnsignedPromise,
} from './reserve-request.js';

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
  /** The same, for callers that go on within the turn of the store where it has one; see core/pending.ts. */
  push(request: ReserveRequest): PromiseLike<ReserveResult>;
  /** The verdict that `reserve` would give now, and the counters behind it; changes nothing. */
  peek(request: ReserveRequest): Promise<PeekResult>;
  /**
   * Takes back a promise for which certainly no signature exists, if it was made once, none is folded and no commit is kept. The
   * last promise of a reservation ends it and frees everything; while others stay, so do all amounts. Otherwise nothing changes,
   * since a signature may exist.
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

/** What decisions ask of a store; its `reserve` is `push`. */
export type DecidingUsage = Pick<UsageStore, 'now' | 'peek' | 'counters' | 'capacity'> & {
  reserve: UsageStore['push'];
};

/**
 * Shows what is stored now, to people. A process that promises nothing keeps no copy of the epoch, so it cannot tell
 * whether the data are lost, and must not begin an epoch.
 */
export type UsageReading = Pick<UsageStore, 'now' | 'counters' | 'accounts' | 'cursor'>;
