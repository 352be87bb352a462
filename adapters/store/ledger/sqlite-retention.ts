import type { Retention } from '../../../core/ledger/ledger.js';
import { minutesKeptFrom, rollupUnits, startOf } from '../../../core/ledger/steps.js';
import type { EpochMs } from '../../../core/units/time.js';
import { movementKey, usageKey } from './columns.js';
import { readMark } from './position.js';
import { dayOfTime, type Row } from './record-rows.js';
import type { SqliteTables } from './sqlite-tables.js';

/** So many rows are removed in one transaction: turns of the usage store wait for it. */
const maxRows = 250;
/** So that one call takes seconds at most. */
const maxMs = 2_000;

type Slice = (now: EpochMs) => Promise<number>;

/** Removes what is too old, or beyond `maxBytes`. True while there is more to remove. */
export async function pruneSqlite(
  tables: SqliteTables,
  now: EpochMs,
  retention: Retention,
  maxBytes: number,
): Promise<boolean> {
  const ago = (days: number): EpochMs => (now - days * rollupUnits.day) as EpochMs;
  const today = startOf(now, 'day');
  const lapsed: readonly Slice[] = [
    () => removeRecords(tables, dayOfTime(ago(retention.decisions))),
    () => removeChanges(tables, dayOfTime(ago(retention.decisions))),
    () =>
      removeByKey(
        tables,
        'usage',
        usageKey,
        `start < ${startOf(ago(retention.decisions), 'day')} OR (unit = 'minute' AND start < ${minutesKeptFrom(now)})`,
      ),
    () => removeByKey(tables, 'movement', movementKey, `day < ${dayOfTime(ago(retention.decisions))}`),
    () =>
      removeByKey(
        tables,
        'funds',
        ['chain_id', 'contract', 'funding_address', 'unit', 'start'],
        `start < ${ago(retention.decisions)} OR (unit = 'minute' AND start < ${ago(retention.funds)})`,
      ),
  ];
  // The oldest days, but for the last two.
  const beyond: readonly Slice[] = [
    () => removeRecords(tables, dayOfTime(today) - 1),
    () => removeChanges(tables, dayOfTime(today) - 1),
  ];
  const until = performance.now() + maxMs;
  for (const slice of lapsed) while ((await slice(now)) > 0) if (performance.now() > until) return true;
  for (const slice of beyond)
    while (tables.usedBytes() > maxBytes && (await slice(now)) > 0)
      if (performance.now() > until) return true;
  return false;
}

/** Its newest row stays as well. */
async function removeChanges(tables: SqliteTables, before: number): Promise<number> {
  const rows = await tables.read(({ query }) =>
    query(
      `SELECT number, day FROM ledger_change WHERE number < (SELECT max(number) FROM ledger_change) ORDER BY number LIMIT ${maxRows}`,
    ),
  );
  return removePrefix(tables, 'change', rows, ({ day }) => Number(day) < before);
}

/**
 * The first rows of each table of records, which are the oldest, as far as they are older than that day and counted in the sums. The
 * newest row stays, because the next one gets the number after it.
 */
async function removeRecords(tables: SqliteTables, before: number): Promise<number> {
  let removed = 0;
  for (const table of ['decision', 'settlement', 'gap'] as const) {
    const rows = await tables.read(async (reader) => {
      const mark = await readMark(reader);
      return reader.query(
        `SELECT number, day FROM ledger_${table}
         WHERE number < $1 AND number < (SELECT max(number) FROM ledger_${table}) ORDER BY number LIMIT ${maxRows}`,
        [mark[table]],
      );
    });
    removed += await removePrefix(tables, table, rows, ({ day }) => Number(day) < before);
  }
  return removed;
}

async function removePrefix(
  tables: SqliteTables,
  table: string,
  rows: readonly Row[],
  isOld: (row: Row) => boolean,
): Promise<number> {
  const end = rows.findIndex((row) => !isOld(row));
  const old = end === -1 ? rows : rows.slice(0, end);
  const last = old.at(-1)?.['number'];
  if (last !== undefined)
    tables.write(({ sql }) => sql.prepare(`DELETE FROM ledger_${table} WHERE number <= ?`).run(Number(last)));
  return old.length;
}

/** They are looked for before turns have to wait. */
async function removeByKey(
  tables: SqliteTables,
  table: string,
  key: readonly string[],
  isOld: string,
): Promise<number> {
  const names = key.join(', ');
  const rows = await tables.read(({ query }) =>
    query(`SELECT ${names} FROM ledger_${table} WHERE ${isOld} LIMIT ${maxRows}`),
  );
  if (rows.length === 0) return 0;
  const same = key.map((name) => `${name} = ?`).join(' AND ');
  tables.write(({ sql }) => {
    const remove = sql.prepare(`DELETE FROM ledger_${table} WHERE ${same}`);
    for (const row of rows) remove.run(...key.map((name) => row[name] as string | number));
  });
  return rows.length;
}
