import type { LedgerEntry } from '../../../core/ledger/ledger.js';
import type { Statement } from '../../postgres/pipeline.js';
import type { Database } from '../../sqlite/database.js';
import { columns, kindOf, namesOf, type Cell, type Columns, type Table } from './columns.js';
import { postgresDialect, sqliteDialect } from './dialect.js';
import { movementWritesOf } from './movement-rows.js';
import { decisionRow, fundsRows, gapRow, settlementRow } from './record-rows.js';

// Entries as rows, in the transaction of what they record. An entry whose id is stored already is left out, so that a transaction
// whose commit is in doubt may be made again.

type LedgerRow = Readonly<Record<string, Cell | undefined>>;
type RecordTable = Exclude<Table, 'usage' | 'change' | 'movement'>;

/** Rows by table. Throws INVALID_INPUT for an id that is not one of ours. */
function rowsOf(entries: readonly LedgerEntry[]): ReadonlyMap<RecordTable, readonly LedgerRow[]> {
  const rows = new Map<RecordTable, LedgerRow[]>();
  const add = (table: RecordTable, row: LedgerRow): void => {
    const known = rows.get(table);
    if (known === undefined) rows.set(table, [row]);
    else known.push(row);
  };
  for (const entry of entries) {
    const { record, reservation } = entry;
    switch (record.kind) {
      case 'decision':
        add('decision', decisionRow({ record, reservation }));
        break;
      case 'settlement':
      case 'reversal':
        add('settlement', settlementRow({ record, reservation }));
        break;
      case 'gap':
        add('gap', gapRow({ record, reservation }));
        break;
      case 'funds':
        for (const row of fundsRows({ record, reservation })) add('funds', row);
        break;
      case 'movements':
        break;
    }
  }
  return rows;
}

/**
 * What PostgreSQL stores in a turn's second trip. Decisions, settlements and gaps of a day that has no part of its table fail, and the
 * turn with them; funds of such a day are not stored: the statement's answer has a row for each one that was. Nor are
 * movements of such a month, whose blocks then stay uncovered.
 */
export function ledgerStatements(entries: readonly LedgerEntry[]): readonly Statement[] {
  const statements: Statement[] = [];
  for (const [table, rows] of rowsOf(entries))
    statements.push({ name: `add-${table}`, text: insertTexts[table], values: [JSON.stringify(rows)] });
  return [...statements, ...movementWritesOf(postgresDialect, entries)];
}

function insertText(table: Table, where = ''): string {
  const names = namesOf(table);
  const all: Columns = columns[table];
  const cells = names.map((name) => (kindOf(all[name]!).kind === 'json' ? postgresDialect.json(name) : name));
  return `INSERT INTO ledger.${table} (${names.join(', ')}) SELECT ${cells.join(', ')}
    FROM ${postgresDialect.rows('$1', 'added', all)} ${where} ON CONFLICT DO NOTHING`;
}

const insertTexts = {
  decision: insertText('decision'),
  settlement: insertText('settlement'),
  gap: insertText('gap'),
  funds: `${insertText('funds', `WHERE ${postgresDialect.hasPart('funds', 'day', 'day')}`)} RETURNING 1`,
} as const satisfies Record<RecordTable, string>;

export type SqliteLedgerWriter = {
  /** Within a transaction of the database. Throws INVALID_INPUT for an id that is not one of ours. */
  write(entries: readonly LedgerEntry[]): void;
};

/** The tables must be there: see `migrateSqliteLedger`. */
export function createSqliteLedgerWriter({ sql }: Database): SqliteLedgerWriter {
  const insert = (table: Table) => {
    const names = namesOf(table);
    const statement = sql.prepare(
      `INSERT INTO ledger_${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})
       ON CONFLICT DO NOTHING`,
    );
    return (row: LedgerRow): void => void statement.run(...names.map((name) => row[name] ?? null));
  };
  const inserts = {
    decision: insert('decision'),
    settlement: insert('settlement'),
    gap: insert('gap'),
    funds: insert('funds'),
  };
  const ofMovements = new Map<string, ReturnType<typeof sql.prepare>>();
  const prepared = (text: string) => {
    const statement = ofMovements.get(text) ?? sql.prepare(text);
    ofMovements.set(text, statement);
    return statement;
  };
  return {
    write: (entries) => {
      for (const [table, rows] of rowsOf(entries)) rows.forEach(inserts[table]);
      for (const { text, values } of movementWritesOf(sqliteDialect, entries))
        prepared(text).run(Object.fromEntries(values.map((value, i) => [`$${i + 1}`, value])));
    },
  };
}
