import {
  defaultRetention,
  prunedShare,
  usualLedgerBytes,
  type Ledger,
  type LedgerMaintenance,
  type Retention,
} from '../../../core/ledger/ledger.js';
import type { Clock, EpochMs } from '../../../core/units/time.js';
import { changeTables } from '../../postgres/migrate.js';
import {
  createPostgres,
  type PostgresOptions,
  type Session,
  type Transaction,
} from '../../postgres/transactions.js';
import { readChanges, recordChange } from './changes.js';
import { columns, columnNames, usageKey, type RowOf } from './columns.js';
import { postgresDialect } from './dialect.js';
import { readFunds } from './funds.js';
import { namesAtOnce, newNames, readNames, writeNames } from './object-names.js';
import { readGaps, readPast } from './past.js';
import { makeParts, migratePostgresLedger } from './partitions.js';
import type { Mark, Position } from './position.js';
import type { Reader } from './reader.js';
import { prunePostgres, sizeOfPostgres } from './postgres-retention.js';
import { readTail, rollUpSlice, type RollUpTables } from './roll-up.js';
import { eraLength, xactOfEra } from './schema.js';
import { findDecision, searchDecisions } from './search.js';
import { readSpent } from './spent.js';
import { readPrices, readStatement } from './statements.js';
import { readUsage } from './usage.js';

type PostgresLedgerOptions = PostgresOptions & {
  readonly clock: Clock;
  readonly retention?: Retention;
  /** Bytes of all tables of the ledger. Default 10 GB. */
  readonly maxBytes?: number;
  /** A search for decisions answers what it has found after this time. Default 5,000. */
  readonly searchMs?: number;
};

/** The ledger as it is read, and its jobs; turns of the usage store write it. */
export type StoredLedger = Ledger & LedgerMaintenance;

/** After it a query fails. */
const queryTimeoutMs = 15_000;
const rollUpTimeoutMs = 30_000;
/** Of all tables together. */
const sliceRows = 4_000;

/**
 * The ledger in the database of the usage store. It connects, and creates its tables, when it is first used; several processes may do so at
 * the same time. Every method throws UNAVAILABLE when the database cannot answer, and works again as soon as it can.
 */
export function createPostgresLedger(options: PostgresLedgerOptions): StoredLedger {
  const { clock, retention = defaultRetention, maxBytes = usualLedgerBytes, searchMs = 5_000 } = options;
  const postgres = createPostgres(options);
  let migrated: Promise<void> | undefined;

  /** Once per process; tried again after a failure. */
  function ready(): Promise<void> {
    migrated ??= migratePostgresLedger(postgres, clock.now()).catch((error: unknown) => {
      migrated = undefined;
      throw error;
    });
    return migrated;
  }

  async function run<T>(mode: Transaction['mode'], work: (session: Session) => Promise<T>): Promise<T> {
    await ready();
    return postgres.transaction({ mode, timeoutMs: queryTimeoutMs }, work);
  }
  const read = <T>(work: (reader: Reader) => Promise<T>): Promise<T> =>
    run('read', (session) => work(createReader(session)));

  const tables: RollUpTables = {
    read: async (work) => {
      await ready();
      return postgres.transaction({ mode: 'read', timeoutMs: rollUpTimeoutMs }, (session) =>
        work(createReader(session)),
      );
    },
    sliceRows,
    endOfSlice,
    store: async (rows, from, to) => {
      await makeParts(postgres, ['usage'], new Set(rows.map(({ start }) => start as EpochMs)));
      return postgres.transaction({ mode: 'write', timeoutMs: rollUpTimeoutMs }, (session) =>
        storeSums(session, rows, from, to),
      );
    },
    beginAnew: async (reader, mark) => {
      const system = await readSystemId(reader);
      if (system === mark.system) return false;
      await changeTables(postgres, (session) => beginAnew(session, mark, system));
      return true;
    },
  };

  return {
    rollUp: () => rollUpSlice(tables),
    usage: (query) => read(async (reader) => readUsage(reader, query, await readTail(tables, reader))),
    spent: (query) => read(async (reader) => readSpent(reader, query, await readTail(tables, reader))),
    decisions: (query) => read((reader) => searchDecisions(reader, query, searchMs)),
    decision: (organisation, id) => read((reader) => findDecision(reader, organisation, id)),
    funds: (query) => read(async (reader) => readFunds(reader, query, await readTail(tables, reader))),
    statement: (query) => read((reader) => readStatement(reader, query)),
    prices: (query) => read((reader) => readPrices(reader, query)),
    past: (query) => read((reader) => readPast(reader, query)),
    gaps: (query) => read((reader) => readGaps(reader, query)),
    prune: (now) => prunePostgres(postgres, now, retention, maxBytes * prunedShare),
    size: async () => ({ used: await run('read', sizeOfPostgres), capacity: maxBytes }),
    changes: {
      record: (write) => run('write', (session) => recordChange(createReader(session), write)),
      list: (query) => read((reader) => readChanges(reader, query)),
    },
    names: {
      async keep(names) {
        for (let from = 0; from < names.length; from += namesAtOnce) {
          const added = await read((reader) => newNames(reader, names.slice(from, from + namesAtOnce)));
          if (added.length > 0) await run('write', (session) => writeNames(createReader(session), added));
        }
      },
      list: (organisation, kind) => read((reader) => readNames(reader, organisation, kind)),
    },
    ping: () =>
      read(async ({ query }) => {
        await query('SELECT 1');
      }),
    stop: () => postgres.stop(),
  };
}

function createReader({ query }: Session): Reader {
  return { dialect: postgresDialect, query };
}

async function readSystemId({ query }: Reader | Session): Promise<string> {
  const [row] = await query('SELECT system_identifier::text AS system FROM pg_control_system()');
  return String(row?.['system']);
}

/**
 * Rows of transactions that have ended: their numbers are below that of the oldest one that has not. What a transaction wrote is
 * either all there by then or never will be, whatever its rows' ids and times are.
 */
async function endOfSlice(
  { query }: Reader,
  from: Mark,
  most: number,
): Promise<{ readonly to: Position; readonly isLast: boolean }> {
  const first = Math.min(from.decision, from.settlement, from.gap);
  const part = (table: string): string =>
    `SELECT xact FROM ledger.${table} WHERE xact >= $1 AND xact < (SELECT xmin FROM oldest)`;
  const [row] = await query(
    `WITH oldest AS MATERIALIZED (
       SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint + ${from.era * eraLength} AS xmin
     )
     SELECT count(*) AS rows, max(xact) AS last FROM (
       SELECT xact FROM (${['decision', 'settlement', 'gap'].map(part).join(' UNION ALL ')}) AS each_row
       ORDER BY xact LIMIT ${most}
     ) AS slice`,
    [first],
  );
  const rows = Number(row?.['rows'] ?? 0);
  const to = rows === 0 ? first : Number(row?.['last']) + 1;
  return { to: { decision: to, settlement: to, gap: to }, isLast: rows < most };
}

const put = `
  INSERT INTO ledger.usage (${columnNames('usage').join(', ')})
  SELECT ${columnNames('usage')
    .map((name) => (name === 'tokens' ? postgresDialect.json(name) : name))
    .join(', ')} FROM ${postgresDialect.rows('$1', 'added', columns.usage)}
  ON CONFLICT (${usageKey.join(', ')}) DO UPDATE SET ${columnNames('usage')
    .filter((name) => !usageKey.some((key) => key === name))
    .map((name) => `${name} = excluded.${name}`)
    .join(', ')}`;

async function storeSums(
  session: Session,
  rows: readonly RowOf<'usage'>[],
  from: Mark,
  to: Position,
): Promise<boolean> {
  const moved = await session.query(
    `UPDATE ledger.mark SET decision = $4, settlement = $5, gap = $6
     WHERE decision = $1 AND settlement = $2 AND gap = $3 AND system_identifier = $7 AND era = $8 RETURNING 1`,
    [from.decision, from.settlement, from.gap, to.decision, to.settlement, to.gap, from.system, from.era],
  );
  if (moved.length === 0) return false;
  if (rows.length > 0) await session.query(put, [JSON.stringify(rows)]);
  return true;
}

/**
 * The rows came here from another server (a restored dump, an upgrade), whose numbers of transactions say nothing about this one's. From
 * now on rows get numbers above all of those, and the sums begin anew with the oldest row. Changing the default waits for
 * every transaction that writes rows, so that all of them have ended.
 */
async function beginAnew(session: Session, mark: Mark, system: string): Promise<void> {
  await session.query('SET LOCAL lock_timeout = 200');
  const era = mark.era + 1;
  const [moved] = await session.query(
    `UPDATE ledger.mark SET decision = 0, settlement = 0, gap = 0, system_identifier = $1, era = $2
     WHERE era = $3 RETURNING 1`,
    [system, era, mark.era],
  );
  if (moved === undefined) return;
  for (const table of ['decision', 'settlement', 'gap'])
    await session.query(`ALTER TABLE ONLY ledger.${table} ALTER COLUMN xact SET DEFAULT (${xactOfEra(era)})`);
  await session.query('TRUNCATE ledger.usage');
}
