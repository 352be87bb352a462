import type { EpochMs } from '../../../core/units/time.js';
import type { AddedRecord } from '../../../core/usage/usage-store.js';
import type { Database } from '../../sqlite/database.js';
import { integerOf, textOf, type Row } from '../../sqlite/row.js';

/**
 * Records that wait for the ledger. They are in the database of the usage tables, because a transaction over several
 * files in WAL mode is not atomic when the process is killed. The table has a version of its own: releases that do not
 * know it leave it alone. Positions rise, so that inserting appends.
 */
export const outboxSchema = `
  CREATE TABLE ledger_outbox (
    position INTEGER PRIMARY KEY, chain_id INTEGER NOT NULL, reservation TEXT, text TEXT NOT NULL, added_at INTEGER NOT NULL
  ) STRICT;
`;

/**
 * So many characters are about as much work for a checkpoint as a row of the usage tables: their pages are written again
 * and again between two checkpoints, and copied once.
 */
const charactersPerRow = 4_000;

export type OutboxRow = AddedRecord & {
  readonly position: number;
  readonly chainId: number;
  readonly addedAt: EpochMs;
};

/** A range of positions that are removed, and the bytes of their texts. */
type Removal = { readonly from: number; readonly to: number; readonly bytes: number };

/**
 * The table of records, and what the next transaction of the usage tables will change in it: {@link LedgerOutbox.put}
 * writes the changes inside that transaction; after it, either `committed` or `failed` is called.
 */
export class LedgerOutbox {
  readonly #db: Database;
  readonly #insert;
  readonly #delete;
  readonly #select;
  #added: OutboxRow[] = [];
  #removed: Removal[] = [];
  #lastPosition: number;
  /** Rows and bytes of the table; undefined until they are counted. */
  #size: { length: number; bytes: number } | undefined;
  #listener: (rows: readonly OutboxRow[] | undefined) => void = () => {};

  constructor(db: Database) {
    this.#db = db;
    this.#insert = db.sql.prepare('INSERT INTO ledger_outbox VALUES (?, ?, ?, ?, ?)');
    this.#delete = db.sql.prepare('DELETE FROM ledger_outbox WHERE position BETWEEN ? AND ?');
    this.#select = db.sql.prepare('SELECT * FROM ledger_outbox WHERE position > ? ORDER BY position LIMIT ?');
    const last = db.sql.prepare('SELECT max(position) AS last FROM ledger_outbox').get()?.['last'];
    this.#lastPosition = Number(last ?? 0);
  }

  /** Called after each commit with the new rows; with undefined when it is not known what was committed. */
  onCommit(listener: (rows: readonly OutboxRow[] | undefined) => void): void {
    this.#listener = listener;
  }

  add(chainId: number, records: readonly AddedRecord[], now: EpochMs): void {
    for (const { reservation, text } of records)
      this.#added.push({ position: (this.#lastPosition += 1), chainId, reservation, text, addedAt: now });
  }

  remove(removal: Removal): void {
    this.#removed.push(removal);
  }

  get hasChanged(): boolean {
    return this.#added.length > 0 || this.#removed.length > 0;
  }

  put(): void {
    for (const { position, chainId, reservation, text, addedAt } of this.#added)
      this.#insert.run(position, chainId, reservation ?? null, text, addedAt);
    for (const { from, to } of this.#removed) this.#delete.run(from, to);
  }

  /** Answers how much was written, counted in rows of the usage tables. */
  committed(): number {
    const [added, removed] = [this.#added, this.#removed];
    if (added.length === 0 && removed.length === 0) return 0;
    this.#added = [];
    this.#removed = [];
    if (this.#size !== undefined) {
      for (const { text } of added) this.#size.bytes += Buffer.byteLength(text);
      for (const { bytes } of removed) this.#size.bytes -= bytes;
      this.#size.length += added.length;
      for (const { from, to } of removed) this.#size.length -= to - from + 1;
    }
    if (added.length > 0) this.#listener(added);
    return added.reduce((sum, { text }) => sum + text.length / charactersPerRow, removed.length);
  }

  /** Positions of rows that failed are not used again: nobody knows whether the table took the commit. */
  failed(): void {
    this.#added = [];
    this.#removed = [];
    this.#size = undefined;
    this.#listener(undefined);
  }

  /** Stored rows after a position, in their order. Throws UNAVAILABLE, as the methods below do. */
  read(after: number, limit: number): readonly OutboxRow[] {
    return this.#db.run(() => this.#select.all(after, limit).map(rowOf));
  }

  /** Stored rows and the bytes of their texts. */
  size(): { readonly length: number; readonly bytes: number } {
    return (this.#size ??= this.#db.run(() => {
      const counted = this.#db.sql
        .prepare('SELECT count(*) AS length, total(octet_length(text)) AS bytes FROM ledger_outbox')
        .get();
      return { length: Number(counted?.['length'] ?? 0), bytes: Number(counted?.['bytes'] ?? 0) };
    }));
  }
}

function rowOf(row: Row): OutboxRow {
  return {
    position: integerOf(row, 'position'),
    chainId: integerOf(row, 'chain_id'),
    reservation: row['reservation'] === null ? undefined : textOf(row, 'reservation'),
    text: textOf(row, 'text'),
    addedAt: integerOf(row, 'added_at') as EpochMs,
  };
}
