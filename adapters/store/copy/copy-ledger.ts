import type { EpochMs } from '../../../core/units/time.js';
import { rollupUnits } from '../../../core/ledger/steps.js';
import type { Postgres, Session } from '../../postgres/transactions.js';
import type { Database } from '../../sqlite/database.js';
import {
  columns,
  coveredColumns,
  kindOf,
  nameColumns,
  namesOf,
  type Columns,
  type Table,
} from '../ledger/columns.js';
import { postgresDialect } from '../ledger/dialect.js';
import { makeParts } from '../ledger/partitions.js';
import { rollUpSlice } from '../ledger/roll-up.js';
import { eraLength, xactOfEra } from '../ledger/schema.js';
import { openSqliteTables } from '../ledger/sqlite-tables.js';

const records = ['decision', 'settlement', 'gap'] as const;
const tables = [...records, 'funds', 'movement', 'usage', 'change'] as const satisfies readonly Table[];

const rowsAtOnce = 1_000;

/** Adds everything to the sums that is not in them yet: they are copied as they are. */
export async function finishSums(path: string): Promise<void> {
  const sums = openSqliteTables(path);
  try {
    while (await rollUpSlice(sums));
  } finally {
    sums.close();
  }
}

export async function makePartsFor(postgres: Postgres, db: Database): Promise<void> {
  for (const table of tables) {
    const time = table === 'usage' ? `start` : `day * ${rollupUnits.day}`;
    const times = db.sql.prepare(`SELECT DISTINCT ${time} AS at FROM ledger_${table}`).all();
    await makeParts(postgres, [table], new Set(times.map(({ at }) => Number(at) as EpochMs)));
  }
}

/**
 * Rows keep their places, as those of an earlier server do (see `beginAnew` of the ledger in PostgreSQL): all of them are before the mark of
 * the sums, and what is written from now on is after it.
 */
export async function copyLedger(
  db: Database,
  session: Session,
  onCopied: (table: Table | 'name' | 'covered', rows: number) => void,
): Promise<void> {
  for (const table of tables) {
    const isRecord = records.some((name) => name === table);
    const all: Columns = isRecord ? { xact: 'integer', ...columns[table] } : columns[table];
    const inOrder = ['funds', 'movement', 'usage'].includes(table) ? '' : 'ORDER BY number';
    const read = db.sql.prepare(
      `SELECT ${isRecord ? 'number AS xact, ' : ''}${namesOf(table).join(', ')} FROM ledger_${table} ${inOrder}`,
    );
    onCopied(table, await insert(session, table, all, read.iterate()));
  }
  const names = db.sql.prepare(`SELECT ${Object.keys(nameColumns).join(', ')} FROM ledger_name`);
  onCopied('name', await insert(session, 'name', nameColumns, names.iterate()));
  const covered = db.sql.prepare(`SELECT ${Object.keys(coveredColumns).join(', ')} FROM ledger_covered`);
  onCopied('covered', await insert(session, 'covered', coveredColumns, covered.iterate()));
  for (const table of records)
    await session.query(`ALTER TABLE ONLY ledger.${table} ALTER COLUMN xact SET DEFAULT (${xactOfEra(1)})`);
  await session.query('UPDATE ledger.mark SET decision = $1, settlement = $1, gap = $1, era = 1', [
    eraLength,
  ]);
}

/** The number of rows. */
async function insert(
  session: Session,
  table: Table | 'name' | 'covered',
  all: Columns,
  rows: Iterable<unknown>,
): Promise<number> {
  const cells = Object.entries(all).map(([name, column]) =>
    kindOf(column).kind === 'json' ? postgresDialect.json(name) : name,
  );
  const statement = `INSERT INTO ledger.${table} (${Object.keys(all).join(', ')}) SELECT ${cells.join(', ')}
    FROM ${postgresDialect.rows('$1', 'added', all)}`;
  let copied = 0;
  for (const some of chunks(rows)) {
    await session.query(statement, [JSON.stringify(some)]);
    copied += some.length;
  }
  return copied;
}

export function* chunks<T>(all: Iterable<T>): Generator<readonly T[]> {
  let some: T[] = [];
  for (const one of all) {
    if (some.push(one) < rowsAtOnce) continue;
    yield some;
    some = [];
  }
  if (some.length > 0) yield some;
}
