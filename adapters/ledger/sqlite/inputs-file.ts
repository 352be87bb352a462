import type { InputsQuery } from '../../../core/ledger/ledger.js';
import { formatRecord, parseRecord } from '../../../core/ledger/record-text.js';
import type { DecisionInputs, RecordId } from '../../../core/ledger/record.js';
import { openDatabase, usedBytes, type Database, type DatabaseOptions } from '../../sqlite/database.js';
import { migrate } from '../../sqlite/migrate.js';
import { integerOf, textOf } from '../../sqlite/row.js';

const tables = [
  `CREATE TABLE inputs (
    id TEXT PRIMARY KEY,
    organisation TEXT NOT NULL,
    paymaster_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    chain_id INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    record TEXT NOT NULL
  ) STRICT;
  CREATE INDEX inputs_in_order ON inputs (organisation, chain_id, sequence, id);`,
];

/** The inputs of a day, which are kept for a shorter time than the decisions and end with the file. */
export type InputsFile = {
  append(inputs: readonly DecisionInputs[]): void;
  /** Up to `limit` places after one, in the order of decisions; `paymasterIds` are compared by {@link InputsFile.read}. */
  places(query: InputsQuery, after: InputsPlace | undefined, limit: number): readonly InputsPlace[];
  read(id: RecordId): DecisionInputs;
  /** Removes those that were stored first; false: there is none. */
  removeOldest(count: number): boolean;
  bytes(): number;
  close(): void;
};

/** Orders the inputs of an organisation. */
export type InputsPlace = { readonly chainId: number; readonly sequence: number; readonly id: RecordId };

export function comparePlaces(a: InputsPlace, b: InputsPlace): number {
  return a.chainId - b.chainId || a.sequence - b.sequence || (a.id < b.id ? -1 : Number(a.id > b.id));
}

export function openInputsFile(path: string, options: DatabaseOptions): InputsFile {
  const database = openDatabase(path, options);
  try {
    migrate(database, 'ledger-inputs', tables);
    return inputsFileOf(database);
  } catch (error) {
    database.close();
    throw error;
  }
}

function inputsFileOf(database: Database): InputsFile {
  const insert = database.sql.prepare(
    'INSERT INTO inputs VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const next = database.sql.prepare(
    `SELECT chain_id, sequence, id FROM inputs
     WHERE organisation = ? AND (chain_id, sequence, id) > (?, ?, ?) AND at >= ? AND at < ?
       AND paymaster_id IN (SELECT value FROM json_each(?))
     ORDER BY chain_id, sequence, id LIMIT ?`,
  );
  const removeOldest = database.sql.prepare(
    'DELETE FROM inputs WHERE rowid IN (SELECT rowid FROM inputs ORDER BY rowid LIMIT ?)',
  );
  const one = database.sql.prepare('SELECT record FROM inputs WHERE id = ?');
  return {
    append: (inputs) =>
      database.transaction(() => {
        for (const record of inputs) {
          const { id, organisation, paymasterId, at, chainId, sequence } = record;
          insert.run(id, organisation, paymasterId, at, chainId, sequence, formatRecord(record));
        }
      }),
    places: ({ organisation, paymasterIds, from, to }, after, limit) =>
      database.run(() =>
        next
          .all(
            organisation,
            after?.chainId ?? -1,
            after?.sequence ?? -1,
            after?.id ?? '',
            from,
            to,
            JSON.stringify(paymasterIds),
            limit,
          )
          .map((row) => ({
            chainId: integerOf(row, 'chain_id'),
            sequence: integerOf(row, 'sequence'),
            id: textOf(row, 'id'),
          })),
      ),
    read: (id) =>
      database.run(() => {
        const row = one.get(id);
        const record = row && parseRecord(textOf(row, 'record'));
        if (record?.kind !== 'inputs') throw new TypeError(`inputs ${id} cannot be read`);
        return record;
      }),
    removeOldest: (count) => database.run(() => removeOldest.run(count).changes > 0),
    bytes: () => usedBytes(database),
    close: () => database.close(),
  };
}
