import {
  columns,
  coveredColumns,
  columnKind,
  movementKey,
  nameColumns,
  nameKey,
  usageKey,
  type Columns,
  type Table,
} from './columns.js';
import { postgresDialect, sqliteDialect, type Dialect } from './dialect.js';
import { changesView, movementViews, publishedViews } from './views.js';

/** Tables whose rows the roll-up job reads have the number of the transaction that wrote them, above those of earlier servers. */
const rolledUp: readonly Table[] = ['decision', 'settlement', 'gap'];
/** A transaction's number is far below this: so many bits are its own, those above are the era's. See roll-up.ts. */
export const eraLength = 2 ** 44;

export function xactOfEra(era: number): string {
  return `pg_current_xact_id()::text::bigint + ${era * eraLength}`;
}

/** The tables of the ledger in PostgreSQL, as steps that are only ever appended, see `migrate`. Their parts: partitions.ts. */
export const postgresSteps: readonly string[] = [
  `
  ${partedTable('decision', 'id, day', 'day')}
  CREATE INDEX ON ledger.decision (organisation, paymaster_id, id);
  CREATE INDEX ON ledger.decision (organisation, sender, id);
  CREATE INDEX ON ledger.decision (user_op_hash) WHERE user_op_hash IS NOT NULL;
  CREATE INDEX ON ledger.decision (reservation) WHERE reservation <> id;

  ${partedTable('settlement', 'id, day', 'day')}
  CREATE INDEX ON ledger.settlement (reservation) WHERE reservation IS NOT NULL;
  CREATE INDEX ON ledger.settlement (user_op_hash) WHERE user_op_hash IS NOT NULL;

  ${partedTable('gap', 'id, day', 'day')}
  ${partedTable('funds', 'chain_id, contract, funding_address, unit, start, day', 'day')}
  ${partedTable('usage', usageKey.join(', '), 'start')}
  CREATE INDEX ON ledger.usage (value, unit, start) WHERE dimension = 'account';

  CREATE TABLE ledger.mark (
    id integer PRIMARY KEY CHECK (id = 1), decision bigint NOT NULL, settlement bigint NOT NULL, gap bigint NOT NULL,
    system_identifier text NOT NULL, era bigint NOT NULL
  );
  INSERT INTO ledger.mark SELECT 1, 0, 0, 0, system_identifier::text, 0 FROM pg_control_system();

  ${publishedViews}
  `,
  `
  ${partedTable('change', 'id, day', 'day')}
  CREATE INDEX ON ledger.change (organisation, day, id);
  ${nameTable(postgresDialect)}
  ${changesView}
  `,
  `
  ${partedTable('movement', `${movementKey.join(', ')}, day`, 'day')}
  CREATE INDEX ON ledger.movement (chain_id, contract, at);
  ${coveredTable(postgresDialect)}
  ${movementViews}
  `,
];

/**
 * In SQLite each insert is on the thread that signs, and an index of values without an order writes a page with every row. So there are
 * indexes of ids only, which rise, and a search goes backwards in time. Rows are in the order in which they were written.
 */
export const sqliteSteps: readonly string[] = [
  `
  ${rowTable('decision', 'UNIQUE (id)')}
  CREATE INDEX ledger_decision_reservation ON ledger_decision (reservation) WHERE reservation <> id;
  ${rowTable('settlement', 'UNIQUE (id)')}
  CREATE INDEX ledger_settlement_reservation ON ledger_settlement (reservation) WHERE reservation IS NOT NULL;
  ${rowTable('gap', 'UNIQUE (id)')}
  CREATE TABLE ledger_funds (
    ${renderColumns(columns.funds, sqliteDialect)}, PRIMARY KEY (chain_id, contract, funding_address, unit, start)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE ledger_usage (
    ${renderColumns(columns.usage, sqliteDialect)}, PRIMARY KEY (${usageKey.join(', ')})
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX ledger_usage_account ON ledger_usage (value, unit, start) WHERE dimension = 'account';

  CREATE TABLE ledger_mark (
    id INTEGER PRIMARY KEY CHECK (id = 1), decision INTEGER NOT NULL, settlement INTEGER NOT NULL, gap INTEGER NOT NULL
  ) STRICT;
  INSERT INTO ledger_mark VALUES (1, 0, 0, 0);
  `,
  `
  ${rowTable('change', 'UNIQUE (id)')}
  CREATE INDEX ledger_change_organisation ON ledger_change (organisation, day, id);
  ${nameTable(sqliteDialect)}
  `,
  `
  CREATE TABLE ledger_movement (
    ${renderColumns(columns.movement, sqliteDialect)}, PRIMARY KEY (${movementKey.join(', ')})
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX ledger_movement_at ON ledger_movement (chain_id, contract, at);
  ${coveredTable(sqliteDialect)}
  `,
];

function nameTable(dialect: Dialect): string {
  return `CREATE TABLE ${dialect.table('name')} (
    ${renderColumns(nameColumns, dialect)}, PRIMARY KEY (${nameKey.join(', ')})
  );`;
}

function coveredTable(dialect: Dialect): string {
  return `CREATE TABLE ${dialect.table('covered')} (
    ${renderColumns(coveredColumns, dialect)}, PRIMARY KEY (chain_id, contract, from_block)
  );`;
}

/** No part takes what no other takes: see partitions.ts. */
function partedTable(name: Table, key: string, range: string): string {
  const isRolledUp = rolledUp.includes(name);
  const extra = isRolledUp ? `xact bigint NOT NULL DEFAULT (${xactOfEra(0)}),` : '';
  return `
  CREATE TABLE ledger.${name} (${extra} ${renderColumns(columns[name], postgresDialect)}, PRIMARY KEY (${key}))
    PARTITION BY RANGE (${range});
  ${isRolledUp ? `CREATE INDEX ON ledger.${name} (xact);` : ''}`;
}

function rowTable(name: Table, key?: string): string {
  const parts = [
    'number INTEGER PRIMARY KEY',
    renderColumns(columns[name], sqliteDialect),
    ...(key === undefined ? [] : [key]),
  ];
  return `CREATE TABLE ledger_${name} (${parts.join(', ')}) STRICT;`;
}

function renderColumns(of: Columns, { types }: Dialect): string {
  return Object.entries(of)
    .map(([name, column]) => {
      const { kind, isOptional } = columnKind(column);
      return `${name} ${types[kind]}${isOptional ? '' : ' NOT NULL'}`;
    })
    .join(', ');
}
