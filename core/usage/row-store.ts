import type { EpochMs } from '../units/time.js';
import type { ChainRow } from './rows.js';
import type { OpenStep } from './step-parts.js';
import type { Turn } from './turn.js';
import type { ReservationQuery, TakenStep } from './follower-step.js';
import type { AccountId, CounterId, Reservation, ReservationKey } from './reservation.js';
import type { AccountBalance } from './reserve-request.js';

/**
 * Port: rows in a turn. A store collects the calls that come together, reads the rows that they name, lets each call decide
 * over them, and writes what has changed in one transaction.
 *
 * Guarantees (every implementation passes the suite of usage stores, see `usageOver`):
 * - Rows of a turn belong to it alone until it has ended, over all processes. So calls of one turn, and turns that share a
 *   row, come one after the other.
 * - `turn` resolves when the whole turn is durable. It rejects with what `decide` threw, or UNAVAILABLE when the turn was not
 *   written; then nothing of it counts.
 * - `decide` may be called again when a row that it looked up turned out not to belong to the turn; the earlier call counts
 *   for nothing.
 */
export type RowStore = {
  /** The store's time as far as this process knows it. */
  now(): EpochMs;
  turn<T>(
    chainId: number,
    /** Asked by stores that lock rows; a store that has them all in memory need not know. */
    wanted: () => Wanted,
    decide: (turn: Turn, now: EpochMs) => T,
    /** A result that need not wait until the turn is durable: a refusal. Default: every result waits. */
    promisesNothing?: (result: T) => boolean,
  ): PromiseLike<T>;
  /** The same without locks; it must change nothing, and promises nothing. */
  look<T>(chainId: number, wanted: () => Wanted, read: (turn: Turn, now: EpochMs) => T): Promise<T>;

  chain(chainId: number): Promise<ChainRow>;
  reservations(chainId: number, query?: ReservationQuery): Promise<readonly Reservation[]>;
  liveCount(chainId: number): Promise<number>;
  /** The step of the chain that has begun and not ended. */
  openStep(chainId: number): Promise<OpenStep | undefined>;
  /** Steps that lead to the cursor, the oldest first. */
  takenSteps(chainId: number): Promise<readonly TakenStep[]>;
  accounts(chainId: number): Promise<readonly AccountBalance[]>;
  suspended(chainId: number): Promise<readonly string[]>;
  /** Reservations whose commit was over at this time. */
  dueCommits(chainId: number, at: EpochMs, limit: number): Promise<readonly ReservationKey[]>;
  /** Counters with settled use that nobody holds and whose window ended before this time. */
  endedCounters(chainId: number, before: EpochMs, limit: number): Promise<readonly CounterId[]>;
  /** Deletes fences that are not suspended and that no request has named since. */
  forgetFences(chainId: number, before: EpochMs): Promise<void>;
};

/** Names of rows. A reservation brings the counters and accounts that it holds. */
export type Wanted = {
  readonly reservations?: readonly ReservationKey[];
  /** Reservations with a commit, of the sender of this key. */
  readonly committed?: ReservationKey;
  readonly counters?: readonly CounterId[];
  readonly accounts?: readonly AccountId[];
  readonly fences?: readonly string[];
  /** The chain's cursor: one turn at a time. */
  readonly cursor?: true;
  /** Everything of the chain waits for this turn. */
  readonly alone?: true;
};
