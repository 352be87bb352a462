import type { Retention } from '../../../core/ledger/ledger.js';
import { endOf, rollupUnits, startOf } from '../../../core/ledger/steps.js';
import type { EpochMs } from '../../../core/units/time.js';
import { changeTables, migrate } from '../../postgres/migrate.js';
import type { Postgres, Session } from '../../postgres/transactions.js';
import type { Table } from './columns.js';
import { dayOfTime } from './record-rows.js';
import { postgresSteps } from './schema.js';

// Parts of the tables in PostgreSQL, each of a day or a month (UTC). They are made a week ahead, and no part takes what no other takes:
// one that is made later would have to be searched for it. So a missing part shows: what is decided on its day cannot be stored.

/** `kept`: the retention that removes a part. */
const tables = {
  decision: { period: 'day', kept: 'decisions' },
  settlement: { period: 'day', kept: 'decisions' },
  gap: { period: 'day', kept: 'decisions' },
  // Samples of minutes are deleted earlier, see retention.
  funds: { period: 'day', kept: 'decisions' },
  movement: { period: 'month', kept: 'decisions' },
  usage: { period: 'month', kept: 'decisions' },
  change: { period: 'month', kept: 'decisions' },
} as const satisfies Record<Table, { period: 'day' | 'month'; kept: keyof Retention }>;
const tableNames = Object.keys(tables) as readonly Table[];

const daysAhead = 7;
/** While it waits, everything else waits behind it. A longer query of an analyst is let pass; the part goes later. */
const dropLockTimeoutMs = 200;

/** Brings the tables up to date, with the parts that are needed soon: a start waits for them. Throws UNAVAILABLE. */
export async function migratePostgresLedger(postgres: Postgres, now: EpochMs): Promise<void> {
  await migrate(postgres, { schema: 'ledger', steps: postgresSteps });
  await makePartsAhead(postgres, now, 1);
}

/** Also those of yesterday: so the day of a process whose clock is behind or ahead has parts, too. */
export async function makePartsAhead(postgres: Postgres, now: EpochMs, days = daysAhead): Promise<void> {
  const times = [...Array(days + 2).keys()].map((day) => (now + (day - 1) * rollupUnits.day) as EpochMs);
  await makeParts(postgres, tableNames, times);
}

/** Makes the parts of these times, where they are missing. */
export async function makeParts(
  postgres: Postgres,
  names: readonly Table[],
  times: Iterable<EpochMs>,
): Promise<void> {
  const wanted = new Map<string, Part>();
  for (const at of times)
    for (const table of names) wanted.set(partName(table, at), { table, name: partName(table, at), at });
  if (wanted.size === 0) return;
  const missing = await postgres.transaction({ mode: 'write', timeoutMs: 10_000 }, (session) =>
    session.query(
      `SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass('ledger.' || name) IS NULL`,
      [[...wanted.keys()]],
    ),
  );
  if (missing.length === 0) return;
  await changeTables(postgres, async (session) => {
    for (const { name } of missing) await make(session, wanted.get(String(name))!);
  });
}

type Part = { readonly table: Table; readonly name: string; readonly at: EpochMs };

/**
 * Made apart and attached, because making a part in place would wait for every query of the table, and everything else
 * behind it.
 */
async function make(session: Session, { table, name, at }: Part): Promise<void> {
  const [found] = await session.query('SELECT to_regclass($1) IS NOT NULL AS is_there', [`ledger.${name}`]);
  if (found?.['is_there'] === true) return;
  const { period } = tables[table];
  const range = [startOf(at, period), endOf(at, period)];
  // Days of records are numbers of days, times of sums are milliseconds.
  const [from, to] = table === 'usage' ? range : range.map(dayOfTime);
  await session.query(`CREATE TABLE ledger.${name} (LIKE ledger.${table} INCLUDING ALL)`);
  await session.query(
    `ALTER TABLE ledger.${table} ATTACH PARTITION ledger.${name} FOR VALUES FROM (${from}) TO (${to})`,
  );
}

export type StoredPart = Part & { readonly end: EpochMs; readonly bytes: number };

/** The parts that there are, the oldest first. */
export async function knownParts(session: Session): Promise<readonly StoredPart[]> {
  const rows = await session.query(
    `SELECT part.relname AS name, pg_total_relation_size(part.oid) AS bytes FROM pg_inherits
     JOIN pg_class part ON part.oid = inhrelid
     JOIN pg_class whole ON whole.oid = inhparent
     JOIN pg_namespace ON pg_namespace.oid = whole.relnamespace
     WHERE nspname = 'ledger' AND whole.relkind = 'p'`,
  );
  return rows
    .flatMap((row) => toStoredParts(String(row['name']), Number(row['bytes'])))
    .toSorted((a, b) => a.at - b.at);
}

export function lapsedParts(
  parts: readonly StoredPart[],
  now: EpochMs,
  retention: Retention,
): readonly StoredPart[] {
  return parts.filter(({ table, end }) => end <= now - retention[tables[table].kept] * rollupUnits.day);
}

/** Throws UNAVAILABLE when somebody uses it for longer than others may wait. */
export function dropPart(postgres: Postgres, { name }: Pick<Part, 'name'>): Promise<void> {
  return changeTables(postgres, async (session) => {
    await session.query(`SET LOCAL lock_timeout = ${dropLockTimeoutMs}`);
    await session.query(`DROP TABLE IF EXISTS ledger.${name}`);
  });
}

function partName(table: Table, at: EpochMs): string {
  const digits = new Date(at).toISOString().slice(0, 10).replaceAll('-', '');
  return `${table}_${tables[table].period === 'day' ? digits : digits.slice(0, 6)}`;
}

const partPattern = /^([a-z]+)_(\d{4})(\d{2})(\d{2})?$/;

/** Nothing for parts that somebody else has attached. */
function toStoredParts(name: string, bytes: number): readonly StoredPart[] {
  const [, whole, year, month, day] = partPattern.exec(name) ?? [];
  const table = tableNames.find((known) => known === whole);
  if (table === undefined) return [];
  const at = Date.UTC(Number(year), Number(month) - 1, Number(day ?? 1)) as EpochMs;
  return [{ table, name, at, end: endOf(at, tables[table].period), bytes }];
}
