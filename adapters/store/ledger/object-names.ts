import { maxNames, type NamedKind, type ObjectName } from '../../../core/ledger/object-names.js';
import { nameColumns, nameKey } from './columns.js';
import type { Reader } from './reader.js';
import { storable } from './text.js';

/** Turns of the usage store wait for a write. */
export const namesAtOnce = 250;

/** Of some names those that would be written, in an order that is the same for every process, so that no two wait for each other. */
export async function newNames(
  { dialect, query }: Reader,
  names: readonly ObjectName[],
): Promise<readonly ObjectName[]> {
  const asked = new Map(names.map((name) => [objectNameKey(name), { ...name, shown: storable(name.shown) }]));
  const stored = await query(
    `SELECT known.* FROM ${dialect.rows('$1', 'asked', nameColumns)}
     JOIN ${dialect.table('name')} AS known ON ${nameKey.map((column) => `known.${column} = asked.${column}`).join(' AND ')}`,
    [JSON.stringify([...asked.values()])],
  );
  const known = new Map(stored.map((row) => [objectNameKey(row as ObjectName), String(row['shown'])]));
  const changed = [...asked].filter(([key, { shown }]) => known.get(key) !== shown);
  const room = new Map<string, number>();
  const fitting: ObjectName[] = [];
  for (const [key, name] of changed.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const { organisation, kind } = name;
    const whose = `${organisation} ${kind}`;
    const left = room.get(whose) ?? maxNames - (await countNames({ dialect, query }, organisation, kind));
    if (!known.has(key) && left <= 0) continue;
    room.set(whose, known.has(key) ? left : left - 1);
    fitting.push(name);
  }
  return fitting;
}

async function countNames({ dialect, query }: Reader, organisation: string, kind: string): Promise<number> {
  const [row] = await query(
    `SELECT count(*) AS names FROM ${dialect.table('name')} WHERE organisation = $1 AND kind = $2`,
    [organisation, kind],
  );
  return Number(row?.['names']);
}

export async function writeNames({ dialect, query }: Reader, names: readonly ObjectName[]): Promise<void> {
  const columns = Object.keys(nameColumns).join(', ');
  // SQLite reads ON after a table as the condition of a join, unless there is a WHERE.
  await query(
    `INSERT INTO ${dialect.table('name')} (${columns})
     SELECT ${columns} FROM ${dialect.rows('$1', 'added', nameColumns)} WHERE true
     ON CONFLICT (${nameKey.join(', ')}) DO UPDATE SET shown = excluded.shown`,
    [JSON.stringify(names)],
  );
}

export async function readNames(
  { dialect, query }: Reader,
  organisation: string,
  kind: NamedKind,
): Promise<readonly Pick<ObjectName, 'id' | 'shown'>[]> {
  const rows = await query(
    `SELECT id, shown FROM ${dialect.table('name')} WHERE organisation = $1 AND kind = $2`,
    [organisation, kind],
  );
  return rows.map(({ id, shown }) => ({ id: String(id), shown: String(shown) }));
}

function objectNameKey({ organisation, kind, id }: ObjectName): string {
  return `${organisation} ${kind} ${id}`;
}
