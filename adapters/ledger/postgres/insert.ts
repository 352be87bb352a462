import type { Row, Session } from '../../postgres/transactions.js';

/** Rows for a FROM clause, from the JSON text that is the query's only value. */
export function rowsOf(alias: string, columns: Readonly<Record<string, string>>): string {
  const types = Object.entries(columns).map(([name, type]) => `${name} ${type}`);
  return `json_to_recordset($1::json) AS ${alias} (${types.join(', ')})`;
}

/**
 * Adds rows; those whose key is stored already are left out, whatever else they say. Answers the added rows' columns
 * `returning`, or nothing when it is not given.
 */
export async function insertNew(
  session: Session,
  table: string,
  columns: Readonly<Record<string, string>>,
  rows: readonly object[],
  returning?: string,
): Promise<readonly Row[]> {
  if (rows.length === 0) return [];
  const names = Object.keys(columns).join(', ');
  return session.query(
    `INSERT INTO ledger.${table} (${names}) SELECT ${names} FROM ${rowsOf('added', columns)}
     ON CONFLICT DO NOTHING${returning === undefined ? '' : ` RETURNING ${returning}`}`,
    [jsonOf(rows)],
  );
}

/** Text that PostgreSQL cannot store, which callers may well send: a zero character, half of a surrogate pair. */
const notStorable = /\\u0000|\\ud[89ab]|\\ud[c-f]/i;

/** JSON of rows, in which what cannot be stored is replaced by U+FFFD. A bad text must not stop the ledger. */
export function jsonOf(rows: readonly object[]): string {
  const text = JSON.stringify(rows);
  if (!notStorable.test(text)) return text;
  return JSON.stringify(rows, (_, value: unknown) => (typeof value === 'string' ? storable(value) : value));
}

function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}

const longestKeyText = 400;

/** A text in the key of a roll-up. A key of more than about 2.7 kB cannot be stored, and names may be long. */
export function keyText(text: string): string {
  const isFine = text.length <= longestKeyText && text.isWellFormed() && !text.includes('\0');
  return isFine ? text : storable(text.slice(0, longestKeyText));
}
