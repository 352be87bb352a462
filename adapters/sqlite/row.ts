import type { SQLOutputValue } from 'node:sqlite';

export type Row = Readonly<Record<string, SQLOutputValue>>;

/** A TEXT column that is not NULL. STRICT tables hold nothing else, so another type is a mistake in the query. */
export function readText(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== 'string') throw new TypeError(`column ${column} holds ${typeof value}, expected text`);
  return value;
}

/** An INTEGER column that is not NULL. */
export function readInteger(row: Row, column: string): number {
  const value = row[column];
  if (typeof value !== 'number')
    throw new TypeError(`column ${column} holds ${typeof value}, expected a number`);
  return value;
}
