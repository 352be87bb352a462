import type { EpochMs } from '../../../core/units/time.js';
import type { AddedRecord } from '../../../core/usage/usage-store.js';
import type { Database } from '../../sqlite/database.js';
import { integerOf } from '../../sqlite/row.js';
import { formatRow, parseRow, type OutboxRecord } from './outbox-row.js';

/**
 * Records that wait for the ledger. They are in the database of the usage tables, because a transaction over several
 * files in WAL mode is not atomic when the process is killed. The table has versions of its own: releases that do not
 * know it leave it alone. A row holds the records of one turn and chain, from position `first` to `last`, because one
 * row of many records costs far less than many rows. Positions rise, so that inserting appends.
 */
export const outboxSteps = [
  `CREATE TABLE ledger_outbox (
    position INTEGER PRIMARY KEY, chain_id INTEGER NOT NULL, reservation TEXT, text TEXT NOT NULL, added_at INTEGER NOT NULL
  ) STRICT`,
  `ALTER TABLE ledger_outbox RENAME TO former_outbox;
  CREATE TABLE ledger_outbox (
    last INTEGER PRIMARY KEY, first INTEGER NOT NULL, chain_id INTEGER NOT NULL, added_at INTEGER NOT NULL,
    count INTEGER NOT NULL, head TEXT NOT NULL, texts TEXT NOT NULL
  ) STRICT;
  INSERT INTO ledger_outbox SELECT position, position, chain_id, added_at, 1, json_array(position, 0, reservation), text
    FROM former_outbox;
  DROP TABLE former_outbox`,
];

/**
 * So many bytes are about as much work for a checkpoint as a row of the usage tables: their pages are written again
 * and again between two checkpoints, and copied once.
 */
const bytesPerRow = 4_000;

/** A range of positions that are removed, and the bytes of their texts. */
type Removal = { readonly from: number; readonly to: number; readonly bytes: number };

/**
 * The table of records, and what the next transaction of the usage tables will change in it: {@link LedgerOutbox.put}
 * writes the changes inside that transaction; after it, either `committed` or `failed` is called.
 */
export class LedgerOutbox {
  readonly #db: Database;
  readonly #put;
  readonly #deleteBetween;
  readonly #select;
  #added: OutboxRecord[] = [];
  #removed: Removal[] = [];
  #lastPosition: number;
  /** Records of the table and the bytes of their texts; undefined until they are counted. */
  #size: { length: number; bytes: number } | undefined;
  #listener: (records: readonly OutboxRecord[] | undefined) => void = () => {};

  constructor(db: Database) {
    this.#db = db;
    this.#put = db.sql.prepare('REPLACE INTO ledger_outbox VALUES (?, ?, ?, ?, ?, ?, ?)');
    this.#deleteBetween = db.sql.prepare(
      'DELETE FROM ledger_outbox WHERE last BETWEEN ? AND ? AND first >= ?',
    );
    this.#select = db.sql.prepare('SELECT * FROM ledger_outbox WHERE last > ? ORDER BY last LIMIT 1');
    const last = db.sql.prepare('SELECT max(last) AS last FROM ledger_outbox').get()?.['last'];
    this.#lastPosition = Number(last ?? 0);
  }

  /** Called after each commit with the new records; with undefined when it is not known what was committed. */
  onCommit(listener: (records: readonly OutboxRecord[] | undefined) => void): void {
    this.#listener = listener;
  }

  add(chainId: number, records: readonly AddedRecord[], now: EpochMs): void {
    for (const { reservation, text } of records) {
      const position = (this.#lastPosition += 1);
      // Counting makes one piece of a text that was joined, for everything that reads it later.
      const bytes = Buffer.byteLength(text);
      this.#added.push({ position, chainId, reservation, text, addedAt: now, bytes });
    }
  }

  remove(removal: Removal): void {
    this.#removed.push(removal);
  }

  get hasChanged(): boolean {
    return this.#added.length > 0 || this.#removed.length > 0;
  }

  put(): void {
    for (let from = 0; from < this.#added.length;) {
      const { chainId } = this.#added[from]!;
      const next = this.#added.findIndex((record, i) => i > from && record.chainId !== chainId);
      const until = next < 0 ? this.#added.length : next;
      this.#write(this.#added.slice(from, until));
      from = until;
    }
    for (const removal of this.#removed) this.#cut(removal);
  }

  /** Answers how much was written, counted in rows of the usage tables. */
  committed(): number {
    const [added, removed] = [this.#added, this.#removed];
    if (added.length === 0 && removed.length === 0) return 0;
    this.#added = [];
    this.#removed = [];
    if (this.#size !== undefined) {
      for (const { bytes } of added) this.#size.bytes += bytes;
      for (const { bytes } of removed) this.#size.bytes -= bytes;
      this.#size.length += added.length;
      for (const { from, to } of removed) this.#size.length -= to - from + 1;
    }
    if (added.length > 0) this.#listener(added);
    return added.reduce((sum, { bytes }) => sum + bytes / bytesPerRow, removed.length);
  }

  /** Positions of records that failed are not used again: nobody knows whether the table took the commit. */
  failed(): void {
    this.#added = [];
    this.#removed = [];
    this.#size = undefined;
    this.#listener(undefined);
  }

  /** Stored records after a position, in their order. Throws UNAVAILABLE, as the methods below do. */
  read(after: number, limit: number): readonly OutboxRecord[] {
    return this.#db.run(() => {
      const found: OutboxRecord[] = [];
      for (let row = this.#select.get(after); row !== undefined && found.length < limit;) {
        found.push(...parseRow(row).filter(({ position }) => position > after));
        row = this.#select.get(integerOf(row, 'last'));
      }
      return found.slice(0, limit);
    });
  }

  /** Stored records and the bytes of their texts. */
  size(): { readonly length: number; readonly bytes: number } {
    return (this.#size ??= this.#db.run(() => {
      const counted = this.#db.sql
        .prepare('SELECT total(count) AS length, total(octet_length(texts)) AS bytes FROM ledger_outbox')
        .get();
      return { length: Number(counted?.['length'] ?? 0), bytes: Number(counted?.['bytes'] ?? 0) };
    }));
  }

  #write(records: readonly OutboxRecord[]): void {
    const [first, last] = [records[0]!, records.at(-1)!];
    const { head, texts } = formatRow(records);
    this.#put.run(last.position, first.position, first.chainId, first.addedAt, records.length, head, texts);
  }

  /** Removes whole rows, and takes what it must from a row that the range begins or ends in. */
  #cut({ from, to }: Removal): void {
    this.#deleteBetween.run(from, to, from);
    // The first of these may begin before the range; the second may end after it.
    for (const after of new Set([from - 1, to])) {
      const row = this.#select.get(after);
      if (row === undefined || integerOf(row, 'first') > to) continue;
      const rest = parseRow(row).filter(({ position }) => position < from || position > to);
      this.#deleteBetween.run(integerOf(row, 'last'), integerOf(row, 'last'), 0);
      if (rest.length > 0) this.#write(rest);
    }
  }
}
