import pg from 'pg';
import { parsePostgresUrl } from '../../../adapters/postgres/address.js';
import { openPostgresUsageStore, type PostgresUsageOptions } from '../../../adapters/store/postgres/usage.js';
import { readText } from '../../../adapters/store/postgres/turn-rows.js';
import { silentLogger } from '../../../core/log.js';
import { createMemoryEpochMirror } from '../../../core/usage/epoch.js';
import type { UsageHarness } from '../../conformance/usage/suite.js';
import { query, type SharedPostgres } from '../../support/postgres.js';
import { aClock } from './clock.js';
import { newRecords, recordsInPostgres } from './written-records.js';

/** PostgreSQL's code of a statement that it ended since two waited for each other. */
const deadlock = '40P01';

/** Of this process: a busy machine takes longer than callers of a service can wait. What the server ends, it ends as usual. */
export const patientTimings = { connectMs: 60_000, answerMs: 60_000, patienceMs: 60_000, queueMs: 60_000 };

export function openStore(url: string, change: Partial<PostgresUsageOptions> = {}) {
  return openPostgresUsageStore({
    client: { address: parsePostgresUrl('url', url) },
    identity: 'replica-1',
    log: silentLogger,
    timings: patientTimings,
    ...change,
  });
}

/** An empty store in a separate database. Its clock is moved by hand; reopening it is a replica that is replaced. */
export async function createPostgresHarness(
  server: SharedPostgres,
  change: Partial<PostgresUsageOptions> = {},
): Promise<UsageHarness> {
  const clock = aClock();
  const all = { clock, epochMirror: createMemoryEpochMirror(), ...change };
  const url = await server.createDatabase('tables');
  let current = await openStore(url, all);
  let copy: readonly string[] = [];
  const reopen = async () => {
    await current.stop();
    current = await openStore(url, all);
    return current;
  };
  const putCopyBackUnderneath = () => putBack(server, url, copy);
  return {
    store: current,
    clock,
    reopen,
    wipe: async () => {
      await current.stop();
      await server.query(url, 'DROP SCHEMA usage, ledger CASCADE');
      current = await openStore(url, all);
      return current;
    },
    mirrored: async () => void (await current.recovery.raise()),
    takeRecords: newRecords(() => recordsInPostgres(server, url)),
    takeCopy: async () => {
      copy = await copyOf(server, url);
    },
    putCopyBack: async () => {
      await current.stop();
      await putCopyBackUnderneath();
      current = await openStore(url, all);
      return current;
    },
    putCopyBackUnderneath,
    stop: () => current.stop(),
  };
}

const tables = [
  'database',
  'chain',
  'writer',
  'lock',
  'counter',
  'account',
  'fence',
  'reservation',
  'step',
  'open_step',
];

/** Statements that write the rows as they are now, for {@link putBack}. */
export async function copyOf(server: SharedPostgres, url: string): Promise<readonly string[]> {
  const rowsOf = (table: string) =>
    `(SELECT coalesce(json_agg(t), '[]')::text FROM usage.${table} AS t) AS ${table}`;
  const [found] = await server.query(url, `SELECT ${tables.map(rowsOf).join(', ')}`);
  return tables.map((table) => {
    const rows = readText(found ?? {}, table).replaceAll("'", "''");
    return `INSERT INTO usage.${table} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::usage.${table}, '${rows}')`;
  });
}

export async function putBack(server: SharedPostgres, url: string, copy: readonly string[]): Promise<void> {
  const all = tables.map((table) => `usage.${table}`).join(', ');
  await besideTurns(() => server.query(url, ['BEGIN', `TRUNCATE ${all}`, ...copy, 'COMMIT'].join('; ')));
}

/** Deletes every row but those that say what the database is. */
export async function emptyStore(url: string): Promise<void> {
  const rows = tables.slice(1).map((table) => `usage.${table}`);
  await besideTurns(() => query(url, `TRUNCATE ${rows.join(', ')}`));
}

/**
 * Takes the locks of all tables again when PostgreSQL ended the statement because a turn of a running server, which takes them in another
 * order, waited for it: one of the two must give way, and the server begins again as well.
 */
async function besideTurns(statement: () => Promise<unknown>): Promise<void> {
  for (;;)
    try {
      await statement();
      return;
    } catch (error) {
      if (!(error instanceof pg.DatabaseError && error.code === deadlock)) throw error;
    }
}
