import { openDatabase, openReader, usedBytes, type Database } from '../../sqlite/database.js';
import { migrate } from '../../sqlite/migrate.js';
import { columnNames, usageKey, type Cell } from './columns.js';
import { sqliteDialect } from './dialect.js';
import type { Position } from './position.js';
import type { Reader } from './reader.js';
import type { RollUpTables } from './roll-up.js';
import { sqliteSteps } from './schema.js';

/** Brings the tables up to date. Throws UNAVAILABLE. */
export function migrateSqliteLedger(db: Database): void {
  migrate(db, 'ledger', sqliteSteps);
}

/**
 * Of each table. While a slice is stored, a turn that begins waits, and the thread that signs with it: 5 to 10 ms. Some hundred rows of sums are
 * written with every slice, so smaller ones cost more: with 100 the sums took twice the time.
 */
const sliceRows = 2_000;

export type SqliteTables = RollUpTables & {
  /** A short transaction: turns of the usage store wait for it. */
  write<T>(work: (db: Database) => T): T;
  /** The same with questions; the thread does nothing else meanwhile. */
  change<T>(work: (reader: Reader) => Promise<T>): Promise<T>;
  /** Moves committed data into the main file, while turns go on. While the usage store makes a checkpoint itself, this does nothing. */
  checkpoint(): void;
  usedBytes(): number;
  close(): void;
};

/**
 * Connections of a thread of their own to the file of the usage store: one that reads, and one that writes sums and removes what is old.
 * SQLite has one writer, so a write here and a turn there wait for each other. Sums on the store's own connection would wait for
 * nothing, but take the time of the thread that signs. What is written here is not synced: it can be worked out again.
 */
export function openSqliteTables(path: string): SqliteTables {
  const writer = openDatabase(path, { durability: 'process' });
  const reader = openedOrClosed(writer, () => {
    // Checkpoints: see `checkpoint`.
    writer.sql.exec('PRAGMA wal_autocheckpoint = 0');
    migrateSqliteLedger(writer);
    const db = openReader(path);
    db.sql.aggregate('wei_sum', {
      start: () => 0n as never,
      step: ((sum: bigint, value: string | number) => sum + BigInt(value)) as never,
      result: String,
    });
    return db;
  });
  const moveMark = writer.sql.prepare(
    `UPDATE ledger_mark SET decision = ?, settlement = ?, gap = ? WHERE decision = ? AND settlement = ? AND gap = ?`,
  );
  const names = columnNames('usage');
  const columns = names.join(', ');
  // Of this connection alone: rows are put here one by one, and into their table at once, because turns wait meanwhile.
  writer.sql.exec(
    'PRAGMA temp_store = MEMORY; CREATE TEMP TABLE staged AS SELECT * FROM ledger_usage WHERE false',
  );
  const stage = writer.sql.prepare(
    `INSERT INTO temp.staged (${columns}) VALUES (${names.map(() => '?').join(', ')})`,
  );
  const stageAll = (rows: readonly Readonly<Record<string, Cell>>[]): void => {
    for (const row of rows) stage.run(...names.map((name) => row[name] ?? null));
  };
  const unstage = writer.sql.prepare('DELETE FROM temp.staged');
  const put = writer.sql.prepare(
    `REPLACE INTO ledger_usage (${columns}) SELECT ${columns} FROM temp.staged ORDER BY ${usageKey.join(', ')}`,
  );
  const storeStaged = (from: Position, to: Position): boolean => {
    const { changes } = moveMark.run(
      to.decision,
      to.settlement,
      to.gap,
      from.decision,
      from.settlement,
      from.gap,
    );
    if (changes > 0) put.run();
    return changes > 0;
  };
  return {
    read: (work) => inTransaction(reader, 'BEGIN', () => work(createReader(reader))),
    sliceRows,
    endOfSlice,
    store: async (rows, from, to) => {
      try {
        writer.run(() => stageAll(rows));
        return writer.transaction(() => storeStaged(from, to));
      } finally {
        writer.run(() => unstage.run());
      }
    },
    write: (work) => writer.transaction(() => work(writer)),
    change: (work) => inTransaction(writer, 'BEGIN IMMEDIATE', () => work(createReader(writer))),
    checkpoint: () =>
      writer.run(() => {
        // What turns write during the first pass, the second one moves at once.
        for (let pass = 0; pass < 2; pass++) writer.sql.exec('PRAGMA wal_checkpoint(PASSIVE)');
      }),
    usedBytes: () => reader.run(() => usedBytes(reader)),
    close: () => {
      reader.close();
      writer.close();
    },
  };
}

function openedOrClosed(db: Database, open: () => Database): Database {
  try {
    return open();
  } catch (error) {
    db.close();
    throw error;
  }
}

async function inTransaction<T>(db: Database, begin: string, work: () => Promise<T>): Promise<T> {
  db.run(() => db.sql.exec(begin));
  try {
    const answer = await work();
    db.run(() => db.sql.exec('COMMIT'));
    return answer;
  } finally {
    if (db.sql.isTransaction) db.run(() => db.sql.exec('ROLLBACK'));
  }
}

function createReader(db: Database): Reader {
  return {
    dialect: sqliteDialect,
    query: async (text, values = []) =>
      db.run(() => {
        const named = Object.fromEntries(
          values.map((value, i) => [`$${i + 1}`, value as string | number | null]),
        );
        return db.sql.prepare(text).all(named);
      }),
  };
}

/** One thread writes rows, so a row that is there has all rows before it. */
async function endOfSlice(
  { query }: Reader,
  from: Position,
  rows: number,
): Promise<{ readonly to: Position; readonly isLast: boolean }> {
  const end = async (table: keyof Position): Promise<number> => {
    const [row] = await query(`SELECT max(rowid) AS last FROM ledger_${table}`);
    return Math.max(from[table], Number(row?.['last'] ?? 0) + 1);
  };
  const ends = {
    decision: await end('decision'),
    settlement: await end('settlement'),
    gap: await end('gap'),
  };
  const to = {
    decision: Math.min(ends.decision, from.decision + rows),
    settlement: Math.min(ends.settlement, from.settlement + rows),
    gap: Math.min(ends.gap, from.gap + rows),
  };
  const isLast = to.decision === ends.decision && to.settlement === ends.settlement && to.gap === ends.gap;
  return { to, isLast };
}
