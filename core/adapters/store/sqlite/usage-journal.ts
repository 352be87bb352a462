import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { createPrivately } from './database.js';

/**
 * The file behind the usage store: an image of everything, and the journal of what happened since.
 *
 * - `append` is one transaction; when it returns, the row survives kill -9 (`process`) or loss of power (`power`).
 * - An image is written in pieces beside the one in force. It takes over in the transaction that ends it; until then a
 *   crash leaves the former image and the whole journal. The journal records states, not differences, so rows that
 *   were written meanwhile are read over the new image without being counted twice.
 * - One process at a time: the file is locked for as long as it is open, since decisions are made in memory.
 */
export type UsageJournal = {
  /** Rows to apply, in order. */
  recover(): IterableIterator<string>;
  append(row: string): void;
  /** Bytes of the rows that recovery would read over the image. */
  bytes(): number;
  /** Bytes of the image in force. */
  imageBytes(): number;
  beginImage(): ImageWriter;
  /** Removes some of what no recovery needs; false when there is nothing left. */
  sweep(): boolean;
  ping(): void;
  close(): void;
};

export type ImageWriter = { add(row: string): void; finish(): void };

/** `process`: accepted survives kill -9 of the process. `power`: it survives loss of power too, at the cost of a sync. */
export type Durability = 'process' | 'power';

const format = 1;
const sweepRows = 500;
const lockWaitMs = 2_000;

const schema = `
  CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS journal (seq INTEGER PRIMARY KEY, ops TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS image (seq INTEGER PRIMARY KEY, generation INTEGER NOT NULL, ops TEXT NOT NULL);
`;

/** Opens or creates the file (mode 0600); throws when it is of another format or locked by another process for 2 s. */
export function openUsageJournal(path: string, durability: Durability): UsageJournal {
  createPrivately(path);
  const db = new DatabaseSync(path, { timeout: lockWaitMs });
  try {
    // Exclusive before the first use of the WAL: the lock is then held until close, and no shared memory is needed.
    db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;');
    db.exec(`PRAGMA synchronous = ${durability === 'power' ? 'FULL' : 'NORMAL'};`);
    db.exec('PRAGMA journal_size_limit = 67108864;');
    db.exec(schema);
    return new SqliteUsageJournal(db);
  } catch (error) {
    db.close();
    throw error;
  }
}

class SqliteUsageJournal implements UsageJournal {
  readonly #db: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #insertImage: StatementSync;
  readonly #put: StatementSync;
  #generation: number;
  /** Newest row that the image in force contains. */
  #base: number;
  #seq: number;
  #imageSeq: number;
  #bytes = 0;
  #imageBytes = 0;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#insert = db.prepare('INSERT INTO journal (seq, ops) VALUES (?, ?)');
    this.#insertImage = db.prepare('INSERT INTO image (seq, generation, ops) VALUES (?, ?, ?)');
    this.#put = db.prepare(
      'INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
    );
    const found = this.#read('format', format);
    if (found !== format)
      throw new RangeError(`the usage store has format ${found}, this version reads ${format}`);
    this.#generation = this.#read('generation', 0);
    this.#base = this.#read('base', 0);
    this.#seq = Math.max(this.#base, this.#last('journal'));
    this.#imageSeq = this.#last('image');
    this.#put.run('format', format);
  }

  *recover(): IterableIterator<string> {
    const images = this.#db.prepare('SELECT ops FROM image WHERE generation = ? ORDER BY seq');
    for (const { ops } of images.iterate(this.#generation)) {
      this.#imageBytes += String(ops).length;
      yield String(ops);
    }
    for (const { ops } of this.#db
      .prepare('SELECT ops FROM journal WHERE seq > ? ORDER BY seq')
      .iterate(this.#base)) {
      this.#bytes += String(ops).length;
      yield String(ops);
    }
  }

  append(row: string): void {
    // The number is used up even if the row fails: nobody knows whether a row whose commit failed is in the file.
    this.#seq += 1;
    this.#insert.run(this.#seq, row);
    this.#bytes += row.length;
  }

  bytes(): number {
    return this.#bytes;
  }

  imageBytes(): number {
    return this.#imageBytes;
  }

  beginImage(): ImageWriter {
    const generation = this.#imageSeq + 1;
    const base = this.#seq;
    const bytesBefore = this.#bytes;
    let written = 0;
    return {
      add: (row) => {
        this.#imageSeq += 1;
        this.#insertImage.run(this.#imageSeq, generation, row);
        written += row.length;
      },
      finish: () => {
        this.#transaction(() => {
          this.#put.run('generation', generation);
          this.#put.run('base', base);
        });
        this.#generation = generation;
        this.#base = base;
        this.#bytes -= bytesBefore;
        this.#imageBytes = written;
      },
    };
  }

  sweep(): boolean {
    const rows = this.#db
      .prepare('DELETE FROM journal WHERE seq <= ? AND seq < (SELECT min(seq) FROM journal) + ?')
      .run(this.#base, sweepRows);
    const images = this.#db
      .prepare(
        'DELETE FROM image WHERE seq IN (SELECT seq FROM image WHERE generation <> ? ORDER BY seq LIMIT 8)',
      )
      .run(this.#generation);
    return Number(rows.changes) + Number(images.changes) > 0;
  }

  ping(): void {
    this.#put.run('ping', 0);
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }

  #transaction(body: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      body();
      this.#db.exec('COMMIT');
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  #read(key: string, missing: number): number {
    const row = this.#db.prepare('SELECT value FROM meta WHERE key = ?').get(key);
    return row === undefined ? missing : Number(row['value']);
  }

  #last(table: 'journal' | 'image'): number {
    return Number(this.#db.prepare(`SELECT max(seq) AS seq FROM ${table}`).get()?.['seq'] ?? 0);
  }
}
