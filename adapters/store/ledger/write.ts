import type { LedgerEntry } from '../../../core/ledger/ledger.js';
import type { Statement } from '../../postgres/pipeline.js';
import type { Database } from '../../sqlite/database.js';
import {
  columns,
  coveredColumns,
  columnKind,
  columnNames,
  type Cell,
  type Columns,
  type RowOf,
  type Table,
} from './columns.js';
import { postgresDialect, sqliteDialect, type Dialect } from './dialect.js';
import { recordDay, decisionRow, fundsRows, gapRow, settlementRow, storableTime } from './record-rows.js';
import type { Movements } from '../../../core/ledger/record.js';
import { storable } from './text.js';

// Entries as rows, in the transaction of what they record. An entry whose id is stored already is left out, so that a transaction
// whose commit is in doubt may be made again.

type LedgerRow = Readonly<Record<string, Cell | undefined>>;
type RecordTable = Exclude<Table, 'usage' | 'change' | 'movement'>;

/** Rows by table. Throws INVALID_INPUT for an id that is not one of ours. */
function groupRows(entries: readonly LedgerEntry[]): ReadonlyMap<RecordTable, readonly LedgerRow[]> {
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
  for (const [table, rows] of groupRows(entries))
    statements.push({ name: `add-${table}`, text: insertTexts[table], values: [JSON.stringify(rows)] });
  return [...statements, ...listMovementWrites(postgresDialect, entries)];
}

function insertText(table: Table, where = ''): string {
  const names = columnNames(table);
  const all: Columns = columns[table];
  const cells = names.map((name) =>
    columnKind(all[name]!).kind === 'json' ? postgresDialect.json(name) : name,
  );
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
    const names = columnNames(table);
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
      for (const [table, rows] of groupRows(entries)) rows.forEach(inserts[table]);
      for (const { text, values } of listMovementWrites(sqliteDialect, entries))
        prepared(text).run(Object.fromEntries(values.map((value, i) => [`$${i + 1}`, value])));
    },
  };
}

/** A change of the tables of movements: its text, and values that both databases take. */
type MovementWrite = {
  readonly name: string;
  readonly text: string;
  readonly values: readonly (string | number)[];
};

/**
 * What a step of the follower writes. Blocks that are read again replace what was recorded of them, and a range of blocks grows where
 * it ended, so that a transaction whose commit is in doubt may be made again.
 */
function movementWrites(dialect: Dialect, record: Movements): readonly MovementWrite[] {
  const { chainId, after, movements, covered } = record;
  const { table } = dialect;
  const writes: MovementWrite[] = [];
  if (after !== undefined) {
    const values = [chainId, after];
    writes.push(
      {
        name: 'remove-movements',
        text: `DELETE FROM ${table('movement')} WHERE chain_id = $1 AND block_number > $2`,
        values,
      },
      {
        name: 'remove-covered',
        text: `DELETE FROM ${table('covered')} WHERE chain_id = $1 AND from_block > $2`,
        values,
      },
      {
        name: 'cut-covered',
        text: `UPDATE ${table('covered')} SET to_block = $2 WHERE chain_id = $1 AND to_block > $2`,
        values,
      },
    );
  }
  if (movements.length > 0)
    writes.push({
      name: 'add-movements',
      text: insertMovements(dialect),
      values: [JSON.stringify(movements.map((movement) => movementRow(record, movement)))],
    });
  if (covered.length > 0) {
    const values = [
      JSON.stringify(
        covered.map(({ contract, fromBlock, toBlock }) => ({
          chain_id: chainId,
          contract,
          from_block: fromBlock,
          to_block: toBlock,
          day: recordDay(record.id),
        })),
      ),
    ];
    const rows = dialect.rows('$1', 'added', { ...coveredColumns, day: columns.movement.day });
    const isStored = dialect.hasPart('movement', 'month', 'added.day');
    const same = 'old.chain_id = added.chain_id AND old.contract = added.contract';
    writes.push(
      {
        name: 'grow-covered',
        text: `UPDATE ${table('covered')} AS old SET to_block = added.to_block
          FROM ${rows} WHERE ${same} AND old.to_block = added.from_block - 1 AND ${isStored}`,
        values,
      },
      {
        name: 'add-covered',
        text: `INSERT INTO ${table('covered')} (${Object.keys(coveredColumns).join(', ')})
          SELECT ${Object.keys(coveredColumns).join(', ')} FROM ${rows}
          WHERE ${isStored} AND NOT EXISTS (SELECT 1 FROM ${table('covered')} AS old
            WHERE ${same} AND old.from_block <= added.from_block AND old.to_block >= added.to_block)
          ON CONFLICT DO NOTHING`,
        values,
      },
    );
  }
  return writes;
}

/** Of entries that are movements. */
function listMovementWrites(dialect: Dialect, entries: readonly LedgerEntry[]): readonly MovementWrite[] {
  return entries.flatMap(({ record }) =>
    record.kind === 'movements' ? movementWrites(dialect, record) : [],
  );
}

function insertMovements(dialect: Dialect): string {
  const names = columnNames('movement').join(', ');
  return `INSERT INTO ${dialect.table('movement')} (${names}) SELECT ${names}
    FROM ${dialect.rows('$1', 'added', columns.movement)}
    WHERE ${dialect.hasPart('movement', 'month', 'day')} ON CONFLICT DO NOTHING`;
}

function movementRow(
  { id, chainId }: Movements,
  movement: Movements['movements'][number],
): RowOf<'movement'> {
  return {
    // Of the record: the time of a block is what a node says, and a part of the table must be there.
    day: recordDay(id),
    at: storableTime(movement.at),
    chain_id: chainId,
    contract: movement.contract,
    funding_address: movement.fundingAddress ?? '',
    kind: movement.kind,
    block_number: movement.blockNumber,
    log_index: movement.logIndex,
    organisation: storable(movement.organisation),
    paymaster_id: storable(movement.paymasterId),
    amount_wei: movement.amountWei?.toString() ?? null,
    count: movement.count,
    transaction_hash: movement.transactionHash ?? null,
  };
}
