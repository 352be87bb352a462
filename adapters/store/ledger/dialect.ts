import { columnKind, type Columns, type Table } from './columns.js';

/**
 * Where PostgreSQL and SQLite differ. Everything else of the ledger is SQL that both understand: values are `$1`, lists and rows are
 * one JSON text.
 */
export type Dialect = {
  table(name: Table | 'mark' | 'name' | 'covered'): string;
  /** Rises with every write: which rows a reader has seen. See `Position`. */
  readonly position: 'xact' | 'rowid';
  readonly types: Readonly<Record<ReturnType<typeof columnKind>['kind'], string>>;
  /** The condition, behind a column, that it is among the texts of a JSON list. Looked up in an index of the column, if there is one. */
  among(parameter: string, kind: 'id' | 'text'): string;
  /** The objects of a JSON list, for `FROM`. JSON in them is text, see `json`. */
  rows(parameter: string, alias: string, columns: Columns): string;
  /** The elements of a JSON list in a column, as `alias.value`, for `FROM`. */
  elements(column: string, alias: string): string;
  json(expression: string): string;
  /** A wei in the text of a JSON element. */
  wei(expression: string): string;
  /** The condition that a column is at least a wei. */
  atLeast(column: string, parameter: string): string;
  /** The exact sum as text. */
  sum(expression: string): string;
  /** The first millisecond of the month (UTC). */
  monthOf(column: string): string;
  /** Whether a row of this day can be stored. */
  hasPart(table: Table, period: 'day' | 'month', day: string): string;
};

export const postgresDialect: Dialect = {
  table: (name) => `ledger.${name}`,
  position: 'xact',
  types: {
    id: 'uuid',
    // Ordered as SQLite orders them.
    text: 'text COLLATE "C"',
    integer: 'bigint',
    wei: 'numeric',
    json: 'jsonb',
    flag: 'integer',
  },
  // As an array: planners join a sub-query, and then read a whole day of decisions for the few that they look for.
  among: (parameter, kind) =>
    `= ANY (ARRAY(SELECT value::${postgresDialect.types[kind]} FROM json_array_elements_text(${parameter}::json) AS one(value)))`,
  rows: (parameter, alias, columns) => {
    const types = Object.entries(columns).map(
      ([name, column]) => `${name} ${parameterType(columnKind(column).kind)}`,
    );
    return `json_to_recordset(${parameter}::json) AS ${alias}(${types.join(', ')})`;
  },
  elements: (column, alias) => `jsonb_array_elements(${column}) AS ${alias}(value)`,
  json: (expression) => `CAST(${expression} AS jsonb)`,
  wei: (expression) => `CAST(${expression} AS numeric)`,
  atLeast: (column, parameter) => `${column} >= CAST(${parameter} AS numeric)`,
  sum: (expression) => `CAST(sum(${expression}) AS text)`,
  monthOf: (column) =>
    `CAST(extract(epoch FROM date_trunc('month', to_timestamp(${column} / 1000) AT TIME ZONE 'UTC')) * 1000 AS bigint)`,
  hasPart: (table, period, day) => {
    const format = period === 'day' ? 'YYYYMMDD' : 'YYYYMM';
    return `to_regclass('ledger.${table}_' || to_char(date '1970-01-01' + (${day})::integer, '${format}')) IS NOT NULL`;
  },
};

function parameterType(kind: keyof Dialect['types']): string {
  return kind === 'json' ? 'text' : postgresDialect.types[kind];
}

export const sqliteDialect: Dialect = {
  table: (name) => `ledger_${name}`,
  position: 'rowid',
  types: {
    id: 'TEXT',
    text: 'TEXT',
    integer: 'INTEGER',
    wei: 'TEXT',
    json: 'TEXT',
    flag: 'INTEGER',
  },
  among: (parameter) => `IN (SELECT value FROM json_each(${parameter}))`,
  rows: (parameter, alias, columns) =>
    `(SELECT ${Object.keys(columns)
      .map((name) => `value ->> '${name}' AS ${name}`)
      .join(', ')} FROM json_each(${parameter})) AS ${alias}`,
  elements: (column, alias) => `json_each(${column}) AS ${alias}`,
  json: (expression) => expression,
  wei: (expression) => expression,
  // Digits without leading zeros: the longer text is the larger number.
  atLeast: (column, parameter) => `(length(${column}), ${column}) >= (length(${parameter}), ${parameter})`,
  // Registered by the reader: SQLite's own sums are 64 bits.
  sum: (expression) => `wei_sum(${expression})`,
  monthOf: (column) => `unixepoch(${column} / 1000, 'unixepoch', 'start of month') * 1000`,
  hasPart: () => 'true',
};
