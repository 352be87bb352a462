import type { Retention } from '../../../core/ledger/ledger.js';
import { endOf, rollupUnits, startOf } from '../../../core/ledger/steps.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { Postgres, Session } from '../../postgres/transactions.js';
import { changeTables } from '../../postgres/migrate.js';

/** Tables in parts by day or month (UTC). `kept`: the retention that removes a part. */
const tables = {
  decisions: { period: 'day', kept: 'decisions' },
  settlements: { period: 'day', kept: 'decisions' },
  outcomes: { period: 'day', kept: 'decisions' },
  gaps: { period: 'day', kept: 'decisions' },
  inputs: { period: 'day', kept: 'inputs' },
  funds_minute: { period: 'day', kept: 'funds' },
  funds_hour: { period: 'month', kept: 'decisions' },
  senders_day: { period: 'day', kept: 'decisions' },
  usage_minute: { period: 'day', kept: 'decisions' },
  usage_hour: { period: 'month', kept: 'decisions' },
  usage_day: { period: 'month', kept: 'decisions' },
  tokens_minute: { period: 'day', kept: 'decisions' },
  tokens_hour: { period: 'month', kept: 'decisions' },
  tokens_day: { period: 'month', kept: 'decisions' },
} as const satisfies Record<string, { period: 'day' | 'month'; kept: keyof Retention }>;
export type PartitionedTable = keyof typeof tables;
const tableNames = Object.keys(tables) as readonly PartitionedTable[];

export class PartsMissing extends Error {
  readonly times: readonly EpochMs[];
  constructor(times: readonly EpochMs[]) {
    super('tables of the ledger have no part for some days');
    this.times = times;
  }
}

/** So that one call takes seconds, also where a part is large. */
const mostDroppedPerCall = 20;
/** A long query of an analyst must not stop everything that waits behind the removal. */
const dropLockTimeoutMs = 1_000;

export function createPartitions(postgres: Postgres) {
  const known = new Set<string>();

  function missingParts(times: Iterable<EpochMs>): ReadonlyMap<string, EpochMs> {
    const missing = new Map<string, EpochMs>();
    for (const time of new Set([...times].map((at) => startOf(at, 'day'))))
      for (const table of tableNames) {
        const name = nameOf(table, time);
        if (!known.has(name)) missing.set(name, time);
      }
    return missing;
  }

  async function ensure(times: Iterable<EpochMs>): Promise<void> {
    const missing = missingParts(times);
    if (missing.size === 0) return;
    await changeTables(postgres, async (session) => {
      for (const [name, time] of missing) await create(session, name, time);
    });
    for (const name of missing.keys()) known.add(name);
  }

  return {
    /** Creates the parts that rows of these times need, where they are missing. Before the transaction that adds rows. */
    ensure,
    /** Throws {@link PartsMissing} if rows of these times may have none. Within a transaction, which is then tried again. */
    require: (times: Iterable<EpochMs>): void => {
      const missing = missingParts(times);
      if (missing.size > 0) throw new PartsMissing([...missing.values()]);
    },
    /** After an error that says that a part is missing: another process has removed it. */
    forget: (): void => known.clear(),
    /** Creates the parts of the next day, and removes some that are too old. True while there are more to remove. */
    prune: async (now: EpochMs, retention: Retention): Promise<boolean> => {
      await ensure([now, endOf(now, 'day')]);
      const old = await expired(postgres, now, retention);
      for (const name of old.slice(0, mostDroppedPerCall)) {
        await changeTables(postgres, async (session) => {
          await session.query(`SET LOCAL lock_timeout = ${dropLockTimeoutMs}`);
          await session.query(`DROP TABLE IF EXISTS ledger.${name}`);
        });
        known.delete(name);
      }
      return old.length > mostDroppedPerCall;
    },
  };
}

/**
 * Created apart and attached, because creating a part in place would wait for every query of the table, and everything
 * else behind it.
 */
async function create(session: Session, name: string, time: EpochMs): Promise<void> {
  const [found] = await session.query('SELECT to_regclass($1) IS NOT NULL AS is_there', [`ledger.${name}`]);
  if (found?.['is_there'] === true) return;
  const table = tableOf(name);
  const { period } = tables[table];
  const [from, to] = [startOf(time, period), endOf(time, period)].map((at) => new Date(at).toISOString());
  await session.query(`CREATE TABLE ledger.${name} (LIKE ledger.${table} INCLUDING ALL)`);
  await session.query(
    `ALTER TABLE ledger.${table} ATTACH PARTITION ledger.${name} FOR VALUES FROM ('${from}') TO ('${to}')`,
  );
}

/** Names of the parts that end before their retention begins. */
async function expired(postgres: Postgres, now: EpochMs, retention: Retention): Promise<readonly string[]> {
  const rows = await postgres.transaction({ mode: 'read', timeoutMs: 10_000 }, (session) =>
    session.query(
      `SELECT part.relname AS name FROM pg_inherits
       JOIN pg_class part ON part.oid = inhrelid
       JOIN pg_class whole ON whole.oid = inhparent
       JOIN pg_namespace ON pg_namespace.oid = whole.relnamespace
       WHERE nspname = 'ledger' AND whole.relkind = 'p'
       ORDER BY part.relname`,
    ),
  );
  return rows
    .map((row) => String(row['name']))
    .filter(
      (name) =>
        isPart(name) && endOfPart(name) <= now - retention[tables[tableOf(name)].kept] * rollupUnits.day,
    );
}

function nameOf(table: PartitionedTable, time: EpochMs): string {
  const digits = new Date(time).toISOString().slice(0, 10).replaceAll('-', '');
  return `${table}_${tables[table].period === 'day' ? digits : digits.slice(0, 6)}`;
}

const partPattern = /^([a-z_]+)_(\d{4})(\d{2})(\d{2})?$/;

/** False for parts that somebody else has attached. */
function isPart(name: string): boolean {
  const table = partPattern.exec(name)?.[1];
  return tableNames.some((known) => known === table);
}

function tableOf(name: string): PartitionedTable {
  return name.replace(/_\d+$/, '') as PartitionedTable;
}

function endOfPart(name: string): EpochMs {
  const [, , year, month, day] = partPattern.exec(name) ?? [];
  const start = Date.UTC(Number(year), Number(month) - 1, Number(day ?? 1)) as EpochMs;
  return endOf(start, tables[tableOf(name)].period);
}
