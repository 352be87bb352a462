import type { EpochMs } from '../units/time.js';
import type { ChangeLog } from './change.js';
import type { ObjectNames } from './object-names.js';
import type { AddedRecord } from '../usage/follower-step.js';
import type {
  DecisionPage,
  DecisionQuery,
  DecisionView,
  FundsQuery,
  FundsHistory,
  UsageQuery,
  UsageRow,
} from './query.js';
import type { HourPrice, PriceQuery } from './prices.js';
import type { PastGap, PastPage, PastQuery } from './past.js';
import type { SpentQuery, SpentRow } from './spent.js';
import type { AccountMovements, StatementQuery } from './statement.js';
import type { LedgerRecord, RecordId } from './record.js';

/**
 * Port: what was decided, mined and paid, in the database of the usage store, which writes it in the turns that decide.
 * Implementations: SQLite, PostgreSQL.
 *
 * Guarantees (every implementation passes one conformance suite):
 * - What a turn has written is answered as soon as the turn is durable.
 * - A record whose id is stored already is ignored, so writing again is harmless.
 * - A decision has at most one settlement that stands. A reversal takes it back, and a later settlement may follow.
 *   Ids order them.
 * - A mined operation whose decision is not stored costs its paymaster alone.
 * - Every method throws DomainError UNAVAILABLE when the ledger cannot answer.
 */
export type Ledger = {
  usage(query: UsageQuery): Promise<readonly UsageRow[]>;
  /** What usage spent, by hour. Undefined: it is more than an answer can hold, or grouped by `sender`, which has sums of days alone. */
  spent(query: SpentQuery): Promise<readonly SpentRow[] | undefined>;
  decisions(query: DecisionQuery): Promise<DecisionPage>;
  /** Undefined when the organisation has no such decision. */
  decision(organisation: string, id: RecordId): Promise<DecisionView | undefined>;
  funds(query: FundsQuery): Promise<readonly FundsHistory[]>;
  /** What changed the balances of accounts: in the order of the accounts that are named, then of those that paid. */
  statement(query: StatementQuery): Promise<readonly AccountMovements[]>;
  /** Decisions of one paymaster and how they ended, page by page, for a what-if. */
  past(query: PastQuery): Promise<PastPage>;
  /** Records of one paymaster that were left out, by cause and reason. */
  gaps(query: Omit<PastQuery, 'after' | 'limit'>): Promise<readonly PastGap[]>;
  /** The first price of each hour that has one. */
  prices(query: PriceQuery): Promise<readonly HourPrice[]>;
  /** Which token changed which object. Absent: nobody keeps it. */
  readonly changes?: ChangeLog;
  /** Absent: what was deleted has no name. */
  readonly names?: ObjectNames;
  ping(): Promise<void>;
  stop(): Promise<void>;
};

/** Port: the work that a ledger needs now and then; processes that share one take turns. */
export type LedgerMaintenance = {
  /** Adds records that were written since to the sums of usage; some thousand per call. True while there are more. */
  rollUp(): Promise<boolean>;
  /**
   * Removes what is older than its retention, and the oldest beyond {@link prunedShare}; at most some seconds of work per call. True
   * while there is more.
   */
  prune(now: EpochMs): Promise<boolean>;
  /** Bytes that its records take, and may take. */
  size(): Promise<LedgerSize>;
};

/** Port: records that no promise depends on. Records of promises go through the turns of the usage store. */
export type LedgerWriter = {
  /** All or none; waits for no disk. Throws UNAVAILABLE. */
  add(records: readonly LedgerRecord[]): Promise<void>;
};

export type LedgerSize = { readonly used: number; readonly capacity: number };

export type LedgerEntry = {
  readonly record: LedgerRecord;
  /** Id of the first decision of the reservation; undefined for records that belong to none. */
  readonly reservation: RecordId | undefined;
};

/** Records of turns are made by servers, which make them as the ledger wants them. */
export function asEntries(records: readonly AddedRecord[]): readonly LedgerEntry[] {
  return records as readonly unknown[] as readonly LedgerEntry[];
}

/** How long records are kept, in days. */
export type Retention = {
  /** Decisions, settlements and roll-ups. */
  readonly decisions: number;
  /** Per minute; after that one sample per hour is kept as long as decisions. */
  readonly funds: number;
};

export const defaultRetention: Retention = { decisions: 400, funds: 30 };

/** Room for records, unless a setting names another. */
export const usualLedgerBytes = 10_000_000_000;

/** Of its room: what is beyond it is removed, the oldest first, so that there is always room for new records. */
export const prunedShare = 0.9;
