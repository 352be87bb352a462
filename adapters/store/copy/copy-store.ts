import { existsSync, renameSync } from 'node:fs';
import { DomainError, messageOf } from '../../../core/errors.js';
import type { RowChanges } from '../../../core/usage/rows.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { ClientOptions } from '../../postgres/client.js';
import { actAsOwner } from '../../postgres/migrate.js';
import { createPostgres, type Session } from '../../postgres/transactions.js';
import type { Database } from '../../sqlite/database.js';
import type { ChainRows } from '../sqlite/chain-rows.js';
import { openUsageDatabase } from '../sqlite/usage.js';
import { createUsageTables } from '../sqlite/usage-tables.js';
import { createSqliteLedgerWriter } from '../ledger/write.js';
import { writeRows } from '../postgres/statements.js';
import { preparePostgres } from '../postgres/usage.js';
import { chunks, copyLedger, finishSums, makePartsFor } from './copy-ledger.js';

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
    throw new DomainError('UNAVAILABLE', `${messageOf(error)}. ${back}`, { cause: error });
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
    for (const changes of changesOf(rows, tables.all(rows.chainId)))
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
function* changesOf(rows: ChainRows, reservations: RowChanges['reservations']): Generator<RowChanges> {
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
