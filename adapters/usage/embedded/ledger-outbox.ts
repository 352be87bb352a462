import { formatLines } from '../../../core/ledger/record-lines.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { AddedRecord } from '../../../core/usage/usage-store.js';
import type { Database } from '../../sqlite/database.js';
import { integerOf, textOf, type Row } from '../../sqlite/row.js';

/**
 * Records that wait for the ledger. They are in the database of the usage tables, because a transaction over several
 * files in WAL mode is not atomic when the process is killed. The table has versions of its own: releases that do not
 * know it leave it alone. A row holds the records of one turn and chain, see `formatLines`, because one row of many
 * records costs far less than many rows. Positions rise, so that inserting appends.
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
  // head: position, begin of the text and reservation of each record in turn.
  `ALTER TABLE ledger_outbox RENAME TO former_outbox;
  CREATE TABLE ledger_outbox (
    position INTEGER PRIMARY KEY, chain_id INTEGER NOT NULL, added_at INTEGER NOT NULL, count INTEGER NOT NULL,
    records TEXT NOT NULL
  ) STRICT;
  INSERT INTO ledger_outbox SELECT last, chain_id, added_at, count, '0' || (
    SELECT group_concat(char(10) || coalesce(head ->> (begin.key + 1), '') || char(9) || char(9)
        || substr(texts, begin.value + 1, coalesce(head ->> (begin.key + 3), length(texts)) - begin.value), ''
      ORDER BY begin.key)
    FROM json_each(head) AS begin WHERE begin.key % 3 = 1
  ) FROM former_outbox;
  DROP TABLE former_outbox`,
];

export type OutboxRow = {
  readonly position: number;
  readonly chainId: number;
  readonly addedAt: EpochMs;
  /** Records in it. */
  readonly count: number;
  readonly text: string;
  /** Of the text, in UTF-8. */
  readonly bytes: number;
};

/**
 * So many bytes are about as much work for a checkpoint as a row of the usage tables: their pages are written again
 * and again between two checkpoints, and copied once.
 */
const bytesPerRow = 4_000;

/**
 * The table of records, and what the next transaction of the usage tables will change in it: {@link LedgerOutbox.put}
 * writes the changes inside that transaction; after it, either `committed` or `failed` is called.
 */
export class LedgerOutbox {
  readonly #db: Database;
  readonly #put;
  readonly #delete;
  readonly #select;
  #added: OutboxRow[] = [];
  #removed: OutboxRow[] = [];
  #lastPosition: number;
  /** Rows of the table and the bytes of their texts; undefined until they are counted. */
  #size: { length: number; bytes: number } | undefined;
  #listener: (rows: readonly OutboxRow[] | undefined) => void = () => {};

  constructor(db: Database) {
    this.#db = db;
    this.#put = db.sql.prepare('INSERT INTO ledger_outbox VALUES (?, ?, ?, ?, ?)');
    this.#delete = db.sql.prepare('DELETE FROM ledger_outbox WHERE position BETWEEN ? AND ?');
    this.#select = db.sql.prepare('SELECT * FROM ledger_outbox WHERE position > ? ORDER BY position LIMIT 1');
    const last = db.sql.prepare('SELECT max(position) AS last FROM ledger_outbox').get()?.['last'];
    this.#lastPosition = Number(last ?? 0);
  }

  /** Called after each commit with the new rows; with undefined when it is not known what was committed. */
  onCommit(listener: (rows: readonly OutboxRow[] | undefined) => void): void {
    this.#listener = listener;
  }

  add(chainId: number, records: readonly AddedRecord[], now: EpochMs): void {
    const text = formatLines(records);
    const position = (this.#lastPosition += 1);
    const count = records.length;
    this.#added.push({ position, chainId, addedAt: now, count, text, bytes: Buffer.byteLength(text) });
  }

  /** Rows that were read. */
  remove(rows: readonly OutboxRow[]): void {
    this.#removed.push(...rows);
  }

  get hasChanged(): boolean {
    return this.#added.length > 0 || this.#removed.length > 0;
  }

  put(): void {
    for (const { position, chainId, addedAt, count, text } of this.#added)
      this.#put.run(position, chainId, addedAt, count, text);
    for (const { from, to } of rangesOf(this.#removed)) this.#delete.run(from, to);
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
      this.#size.length += added.length - removed.length;
    }
    if (added.length > 0) this.#listener(added);
    return added.reduce((sum, { bytes }) => sum + bytes / bytesPerRow, rangesOf(removed).length);
  }

  /** Positions of rows that failed are not used again: nobody knows whether the table took the commit. */
  failed(): void {
    this.#added = [];
    this.#removed = [];
    this.#size = undefined;
    this.#listener(undefined);
  }

  /** Stored rows after a position with about so many records, in their order. Throws UNAVAILABLE, as the methods below do. */
  read(after: number, limit: number): readonly OutboxRow[] {
    return this.#db.run(() => {
      const found: OutboxRow[] = [];
      for (let position = after, count = 0; count < limit;) {
        const row = this.#select.get(position);
        if (row === undefined) break;
        const read = rowOf(row);
        found.push(read);
        position = read.position;
        count += read.count;
      }
      return found;
    });
  }

  /** Stored rows and the bytes of their texts. */
  size(): { readonly length: number; readonly bytes: number } {
    return (this.#size ??= this.#db.run(() => {
      const counted = this.#db.sql
        .prepare('SELECT count(*) AS length, total(octet_length(records)) AS bytes FROM ledger_outbox')
        .get();
      return { length: Number(counted?.['length'] ?? 0), bytes: Number(counted?.['bytes'] ?? 0) };
    }));
  }
}

function rowOf(row: Row): OutboxRow {
  const text = textOf(row, 'records');
  return {
    position: integerOf(row, 'position'),
    chainId: integerOf(row, 'chain_id'),
    addedAt: integerOf(row, 'added_at') as EpochMs,
    count: integerOf(row, 'count'),
    text,
    bytes: Buffer.byteLength(text),
  };
}

/** Consecutive positions as ranges. */
function rangesOf(rows: readonly OutboxRow[]): readonly { from: number; to: number }[] {
  const ranges: { from: number; to: number }[] = [];
  for (const { position } of rows.toSorted((a, b) => a.position - b.position)) {
    const last = ranges.at(-1);
    if (last?.to === position - 1) last.to = position;
    else ranges.push({ from: position, to: position });
  }
  return ranges;
}
