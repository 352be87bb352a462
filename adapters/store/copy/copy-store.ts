import { existsSync, renameSync } from 'node:fs';
import { DomainError, errorMessage } from '../../../core/errors.js';
import type { RowChanges } from '../../../core/usage/rows.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { ClientOptions } from '../../postgres/client.js';
import { actAsOwner } from '../../postgres/migrate.js';
import { createPostgres, type Postgres, type Session } from '../../postgres/transactions.js';
import type { Database } from '../../sqlite/database.js';
import type { ChainRows } from '../sqlite/chain-rows.js';
import { openUsageDatabase } from '../sqlite/usage.js';
import { createUsageTables } from '../sqlite/usage-tables.js';
import { createSqliteLedgerWriter } from '../ledger/write.js';
import { writeRows } from '../postgres/statements.js';
import { preparePostgres } from '../postgres/usage.js';
import { rollupUnits } from '../../../core/ledger/steps.js';
import {
  columns,
  coveredColumns,
  columnKind,
  nameColumns,
  columnNames,
  type Columns,
  type Table,
} from '../ledger/columns.js';
import { postgresDialect } from '../ledger/dialect.js';
import { makeParts } from '../ledger/partitions.js';
import { rollUpSlice } from '../ledger/roll-up.js';
import { eraLength, xactOfEra } from '../ledger/schema.js';
import { openSqliteTables } from '../ledger/sqlite-tables.js';

type CopyOptions = {
  /** The file of the embedded store. No process may have it open. */
  readonly path: string;
  readonly client: ClientOptions;
  readonly now: EpochMs;
  /** Called with a sentence after each part. */
  readonly onProgress: (done: string) => void;
};

/** Of each statement. One that stores a thousand rows takes far less. */
const timeoutMs = 600_000;

/**
 * Copies limits, deposits, reservations and the ledger from the embedded store to PostgreSQL, all or nothing. The file is moved away just before the
 * commit, so that whatever happens then, no process can promise from both. Throws NOT_FOUND without a file, UNAVAILABLE while a process has it
 * open, ALREADY_EXISTS when the database has data of a store already.
 */
export async function copyStore({
  path,
  client,
  now,
  onProgress,
}: CopyOptions): Promise<{ readonly movedTo: string }> {
  const movedTo = `${path}.copied`;
  const back = `If the database is empty, rename ${movedTo} to ${path} and copy again.`;
  if (!existsSync(path))
    throw new DomainError(
      'NOT_FOUND',
      `no embedded store is at ${path}${existsSync(movedTo) ? `. ${back}` : ''}`,
    );
  if (existsSync(movedTo))
    throw new DomainError('ALREADY_EXISTS', `${movedTo} is there already: move it to another place first`);
  const db = openUsageDatabase({ path, durability: 'power' });
  const postgres = createPostgres({ ...client, poolSize: 1 });
  try {
    await preparePostgres(client, now);
    await finishSums(path);
    await makePartsFor(postgres, db);
    await postgres.transaction({ mode: 'write', timeoutMs }, async (session) => {
      await actAsOwner(session);
      await assertEmpty(session);
      await copyUsage(db, session, now);
      onProgress('limits, deposits and reservations are copied');
      await copyLedger(db, session, (table, rows) => onProgress(`${rows} rows of ${table} are copied`));
      // The log of commits goes into the file, since it is not moved.
      db.run(() => db.sql.exec('PRAGMA journal_mode = DELETE'));
      renameSync(path, movedTo);
    });
  } catch (error) {
    if (existsSync(path)) throw error;
    throw new DomainError('UNAVAILABLE', `${errorMessage(error)}. ${back}`, { cause: error });
  } finally {
    await postgres.stop();
    db.close();
  }
  return { movedTo };
}

/** Nobody writes while this transaction is open, and nobody has written before. */
async function assertEmpty(session: Session): Promise<void> {
  await session.query(
    'LOCK TABLE usage.chain, usage.writer, ledger.decision, ledger.gap IN SHARE ROW EXCLUSIVE MODE',
  );
  const [found] = await session.query(
    `SELECT EXISTS (SELECT FROM usage.chain) OR EXISTS (SELECT FROM usage.writer) OR EXISTS (SELECT FROM ledger.decision)
       OR EXISTS (SELECT FROM ledger.gap) AS is_used`,
  );
  if (found?.['is_used'] === true)
    throw new DomainError(
      'ALREADY_EXISTS',
      'the database in PostgreSQL is in use already: copy into an empty one, before the first server connects to it',
    );
}

async function copyUsage(db: Database, session: Session, now: EpochMs): Promise<void> {
  const tables = createUsageTables(db, createSqliteLedgerWriter(db));
  const { chains, messages } = tables.read();
  let newest = 0;
  for (const rows of chains.values()) {
    newest = Math.max(newest, rows.sequence);
    await session.query('INSERT INTO usage.chain (chain_id, epoch, longest_expiry_ms) VALUES ($1, $2, $3)', [
      rows.chainId,
      rows.epoch,
      rows.longestExpiryMs,
    ]);
    for (const changes of listChanges(rows, tables.all(rows.chainId)))
      for (const { text, values = [] } of writeRows(rows.chainId, changes, true))
        await session.query(text, values);
  }
  // What PostgreSQL decides comes after what was decided before.
  await session.query(`SELECT setval('usage.turn', $1)`, [newest + 1]);
  await copyRows(
    db,
    session,
    ['usage_taken_steps', 'usage.step'],
    'chain_id, number, part, block_number, endings, step',
  );
  await copyRows(db, session, ['usage_open_steps', 'usage.open_step'], 'chain_id, step');
  await copyRows(db, session, ['usage_prices', 'usage.price'], 'name, rate, accepted_at');
  for (const [paymasterId, { message, expiresAt }] of messages)
    if (expiresAt > now)
      await session.query('INSERT INTO usage.message VALUES ($1, $2, $3)', [paymasterId, message, expiresAt]);
}

/** All rows of a chain as changes to a chain without any, some at once. */
function* listChanges(rows: ChainRows, reservations: RowChanges['reservations']): Generator<RowChanges> {
  const none = {
    chain: rows.chain,
    counters: [],
    accounts: [],
    fences: [],
    reservations: [],
    ended: [],
    records: [],
    steps: [],
  };
  yield { ...none, accounts: [...rows.accounts()], fences: [...rows.fences()] };
  for (const counters of chunks(rows.counters())) yield { ...none, counters };
  for (const some of chunks(reservations)) yield { ...none, reservations: some };
}

async function copyRows(
  db: Database,
  session: Session,
  [from, into]: readonly [string, string],
  columns: string,
): Promise<void> {
  const places = columns.split(',').map((_, i) => `$${i + 1}`);
  for (const row of db.sql.prepare(`SELECT ${columns} FROM ${from}`).iterate())
    await session.query(`INSERT INTO ${into} (${columns}) VALUES (${places.join(', ')})`, Object.values(row));
}

const records = ['decision', 'settlement', 'gap'] as const;
const tables = [...records, 'funds', 'movement', 'usage', 'change'] as const satisfies readonly Table[];

const rowsAtOnce = 1_000;

/** Adds everything to the sums that is not in them yet: they are copied as they are. */
async function finishSums(path: string): Promise<void> {
  const sums = openSqliteTables(path);
  try {
    while (await rollUpSlice(sums));
  } finally {
    sums.close();
  }
}

async function makePartsFor(postgres: Postgres, db: Database): Promise<void> {
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
async function copyLedger(
  db: Database,
  session: Session,
  onCopied: (table: Table | 'name' | 'covered', rows: number) => void,
): Promise<void> {
  for (const table of tables) {
    const isRecord = records.some((name) => name === table);
    const all: Columns = isRecord ? { xact: 'integer', ...columns[table] } : columns[table];
    const inOrder = ['funds', 'movement', 'usage'].includes(table) ? '' : 'ORDER BY number';
    const read = db.sql.prepare(
      `SELECT ${isRecord ? 'number AS xact, ' : ''}${columnNames(table).join(', ')} FROM ledger_${table} ${inOrder}`,
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
    columnKind(column).kind === 'json' ? postgresDialect.json(name) : name,
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
