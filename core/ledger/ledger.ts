import type { EpochMs } from '../units/time.js';
import type {
  DecisionPage,
  DecisionQuery,
  DecisionView,
  FundsQuery,
  FundsHistory,
  UsageQuery,
  UsageRow,
} from './query.js';
import type { ReplayRegister } from './replay-register.js';
import type { DecisionInputs, Gap, LedgerRecord, RecordId } from './record.js';

/**
 * Port: what was decided, mined and paid. Implementations: SQLite files, PostgreSQL.
 *
 * Guarantees (every implementation passes one conformance suite):
 * - `append` resolves when all entries are stored. An entry is stored with its roll-ups in one transaction. If it
 *   rejects, some entries may be stored. An entry whose id is stored already is ignored, with its roll-ups, so
 *   appending again is harmless.
 * - A decision has at most one settlement that stands. A reversal takes it back, and a later settlement may follow.
 *   Ids order them: entries may come in any order.
 * - A settlement whose decisions are not stored yet is kept, and applied when they come. Until then the cost of a mined
 *   one counts for its paymaster alone.
 * - Every method throws DomainError UNAVAILABLE when the ledger cannot answer.
 */
export type Ledger = {
  append(entries: readonly LedgerEntry[]): Promise<void>;
  /**
   * As `append`, for entries of a feed: of a ledger that reads them in a thread of its own. Answers the records of each
   * of them, in their order; undefined: not a record that this release can read. Those are not stored.
   */
  appendTexts?(entries: readonly EntryText[]): Promise<readonly StoredRecords[]>;
  usage(query: UsageQuery): Promise<readonly UsageRow[]>;
  decisions(query: DecisionQuery): Promise<DecisionPage>;
  /** Undefined when the organisation has no such decision. */
  decision(organisation: string, id: RecordId): Promise<DecisionView | undefined>;
  funds(query: FundsQuery): Promise<readonly FundsHistory[]>;
  /** The recorded inputs of paymasters in a time range, in the order in which they were decided, page by page. */
  inputs(query: InputsQuery): AsyncIterable<readonly DecisionInputs[]>;
  /** Removes what is older than its retention; at most some seconds of work per call. True while there is more. */
  prune(now: EpochMs): Promise<boolean>;
  /** Shared by all processes that open this ledger. Absent: one process opens it. */
  readonly replays?: ReplayRegister;
  /** Bytes that its records take, and may take. Absent: it is not bounded by bytes. */
  size?(): Promise<LedgerSize>;
  ping(): Promise<void>;
  stop(): Promise<void>;
};

export type LedgerSize = { readonly used: number; readonly capacity: number };

export type LedgerEntry = {
  readonly record: LedgerRecord;
  /** Id of the first decision of the reservation; undefined for records that belong to none. */
  readonly reservation: RecordId | undefined;
};

/** What a feed's entry says, see `FeedEntry`. */
export type EntryText = { readonly text: string; readonly reservation?: RecordId };

/** What was stored: its kind; of a gap all of it. */
export type StoredRecord = Exclude<LedgerRecord['kind'], 'gap'> | Gap;

export type StoredRecords = readonly (StoredRecord | undefined)[];

export function storedRecord(record: LedgerRecord): StoredRecord {
  return record.kind === 'gap' ? record : record.kind;
}

export type InputsQuery = {
  readonly organisation: string;
  readonly paymasterIds: readonly string[];
  readonly from: EpochMs;
  readonly to: EpochMs;
};

/** How long records are kept, in days. */
export type Retention = {
  /** Decisions, settlements and roll-ups. */
  readonly decisions: number;
  readonly inputs: number;
  /** Per minute; after that one sample per hour is kept as long as decisions. */
  readonly funds: number;
};

export const defaultRetention: Retention = { decisions: 400, inputs: 7, funds: 30 };
