import {
  defaultRetention,
  type Ledger,
  type LedgerEntry,
  type Retention,
} from '../../../core/ledger/ledger.js';
import type { DecisionInputs } from '../../../core/ledger/record.js';
import type { ReplayRegister } from '../../../core/ledger/replay-register.js';
import { recordTime } from '../../../core/ledger/record-id.js';
import { invalidInput, isDomainError } from '../../../core/errors.js';
import type { EpochMs } from '../../../core/units/time.js';
import { appendEntries } from './append.js';
import {
  createPostgres,
  type PostgresOptions,
  type Session,
  type Transaction,
} from '../../postgres/transactions.js';
import { readFunds } from './funds.js';
import { readInputs } from './inputs.js';
import { migrate } from '../../postgres/migrate.js';
import { createPartitions, PartsMissing } from './partitions.js';
import { createReplayTable, pruneReplays } from '../../store/ledger/replays.js';
import { steps } from './schema.js';
import { isStorable } from './record-rows.js';
import { findDecision, searchDecisions } from './search.js';
import { readUsage } from './usage.js';

export type PostgresLedgerOptions = PostgresOptions & {
  readonly retention?: Retention;
  /** Longest time of a query, after which it fails. Default 15,000. */
  readonly queryTimeoutMs?: number;
  /** A search for decisions answers what it has found after this time. Default 5,000. */
  readonly searchMs?: number;
};

const dayMs = 86_400_000;
const appendTimeoutMs = 30_000;
/** Bounds the size of statements and how long others wait for the lock of the writer. */
const mostEntriesPerTransaction = 2_000;

/**
 * The ledger in PostgreSQL 14 or newer. It connects, and creates its tables, when it is first used; several processes
 * may do so at the same time. Every method throws UNAVAILABLE when the database cannot answer, and works again as soon
 * as it can.
 */
export function createPostgresLedger(
  options: PostgresLedgerOptions,
): Ledger & { readonly replays: ReplayRegister } {
  const { retention = defaultRetention, queryTimeoutMs = 15_000, searchMs = 5_000 } = options;
  const postgres = createPostgres(options);
  const partitions = createPartitions(postgres);
  let migrated: Promise<void> | undefined;

  /** Once per process; tried again after a failure. */
  function ready(): Promise<void> {
    migrated ??= migrate(postgres, { schema: 'ledger', steps }).catch((error: unknown) => {
      migrated = undefined;
      throw error;
    });
    return migrated;
  }

  const read = <T>(work: (session: Session) => Promise<T>): Promise<T> => run('read', work);

  async function run<T>(mode: Transaction['mode'], work: (session: Session) => Promise<T>): Promise<T> {
    await ready();
    return postgres.transaction({ mode, timeoutMs: queryTimeoutMs }, work);
  }

  async function appendAtOnce(entries: readonly LedgerEntry[]): Promise<void> {
    await partitions.ensure(entries.flatMap(timesOf));
    try {
      await postgres.transaction({ mode: 'write', timeoutMs: appendTimeoutMs }, (session) =>
        appendEntries(session, entries, partitions.require),
      );
    } catch (error) {
      if (!isDomainError(error)) throw error;
      if (error.details.reason === noPart) partitions.forget();
      if (!(error.cause instanceof PartsMissing)) throw error;
      // A settlement or reversal changes sums of another day than its own.
      await partitions.ensure(error.cause.times);
      await appendAtOnce(entries);
    }
  }

  return {
    append: async (entries) => {
      requireTimes(entries);
      await ready();
      for (let from = 0; from < entries.length; from += mostEntriesPerTransaction)
        await appendAtOnce(entries.slice(from, from + mostEntriesPerTransaction));
    },
    usage: (query) => read((session) => readUsage(session, query)),
    decisions: (query) => read((session) => searchDecisions(session, query, searchMs)),
    decision: (organisation, id) => read((session) => findDecision(session, organisation, id)),
    funds: (query) => read((session) => readFunds(session, query)),
    inputs: (query) => pagesOf((after) => read((session) => readInputs(session, query, after))),
    prune: async (now) => {
      await pruneReplays(run, (now - retention.inputs * dayMs) as EpochMs);
      return partitions.prune(now, retention);
    },
    replays: createReplayTable(run),
    ping: () =>
      read(async (session) => {
        await session.query('SELECT 1');
      }),
    stop: () => postgres.stop(),
  };
}

/** SQLSTATE check_violation: there is no part of the table for a row. */
const noPart = '23514';

/** The time of a block is what a node says. A time that no table can hold must not stop the other entries for good. */
function requireTimes(entries: readonly LedgerEntry[]): void {
  for (const at of entries.flatMap(timesOf))
    if (!isStorable(at))
      throw invalidInput({ field: 'record.at', expected: 'a time before the year 9999', value: String(at) });
}

/** Times whose days need parts of the tables. */
function timesOf({ record }: LedgerEntry): readonly EpochMs[] {
  return [recordTime(record.id), record.at];
}

async function* pagesOf(
  read: (after: DecisionInputs | undefined) => Promise<readonly DecisionInputs[]>,
): AsyncGenerator<readonly DecisionInputs[]> {
  let after: DecisionInputs | undefined;
  for (;;) {
    const page = await read(after);
    if (page.length === 0) return;
    yield page;
    after = page.at(-1);
  }
}
