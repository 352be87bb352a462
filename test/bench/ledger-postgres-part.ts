import { createPostgresLedger } from '../../adapters/ledger/postgres/ledger.js';
import { parsePostgresUrl } from '../../adapters/postgres/address.js';
import type { EpochMs } from '../../core/units/time.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import type { Goal } from './goals.js';
import { fillLedger, ledgerMonth, measureUsageQuery } from './ledger-load.js';

export type LedgerPostgresResult = { readonly decisions: number; readonly goals: readonly Goal[] };

const ingested = 60_000;
const queries = 100;
const dayMs = 86_400_000;

/** The ledger in PostgreSQL with its own defaults, except that it has 256 MB of buffers. It shares the machine. */
export async function measureLedgerPostgres(): Promise<LedgerPostgresResult> {
  const server = await startPostgres({ settings: { fsync: 'on', shared_buffers: '256MB' } });
  try {
    const rate = await measureIngest(server);
    const { decisions, p95 } = await measureQuery(server);
    const goals: Goal[] = [
      {
        name: 'PostgreSQL ledger: decisions stored per second',
        value: Math.round(rate),
        unit: 'count',
        required: { atLeast: 3000 },
      },
      {
        name: 'PostgreSQL ledger: p95 of 30 days per policy and day, 10^7 decisions',
        value: p95,
        unit: 'ms',
        required: { atMost: 100 },
      },
    ];
    return { decisions, goals };
  } finally {
    await server.stop();
  }
}

async function measureIngest(server: PostgresServer): Promise<number> {
  const ledger = open(await server.createDatabase());
  try {
    await ledger.ping();
    const { decisions, seconds } = await fillLedger(ledger, ingested);
    return decisions / seconds;
  } finally {
    await ledger.stop();
  }
}

async function measureQuery(
  server: PostgresServer,
): Promise<{ readonly decisions: number; readonly p95: number }> {
  const url = await server.createDatabase();
  const ledger = open(url);
  try {
    // Creates the parts of the tables for each day.
    for (let day = ledgerMonth.from; day < ledgerMonth.to; day = (day + dayMs) as EpochMs)
      await ledger.prune(day);
    await server.query(url, monthOfRollups());
    const [row] = await server.query(
      url,
      `SELECT sum(sponsored) AS decisions FROM ledger.usage_day WHERE dimension = 'paymaster'`,
    );
    return { decisions: Number(row?.['decisions']), p95: await measureUsageQuery(ledger, queries) };
  } finally {
    await ledger.stop();
  }
}

function open(url: string) {
  return createPostgresLedger({ address: parsePostgresUrl('url', url) });
}

/**
 * Writes the roll-ups of hours and days of 10^7 decisions straight into their tables, as appending them would leave
 * them: 139 in an hour for each paymaster and each of its values. What such a question does not read is left out: the
 * decisions, which would take half an hour and 20 GB, and the roll-ups of minutes.
 */
function monthOfRollups(): string {
  const { organisation, from, to, paymasters, policiesEach } = ledgerMonth;
  const policies = [...Array(policiesEach).keys()].map(
    (policy) => `('policy', 'policy-' || n || '-${policy}')`,
  );
  const sums = (decisions: string): string =>
    `${decisions}, 0, ${decisions}, 0, 0, ${decisions} * 400000000000000, ${decisions} * 250000000000000`;
  return `
    INSERT INTO ledger.usage_hour
    SELECT start, '${organisation}', 'paymaster-' || n, dimension, value, ${sums('139')}
    FROM generate_series(${[from, to - 1].map((at) => `'${new Date(at).toISOString()}'::timestamptz`).join(', ')}, '1 hour') AS start,
      generate_series(0, ${paymasters - 1}) AS n,
      LATERAL (VALUES ('paymaster', 'paymaster-' || n), ('chain', '31337'), ('mode', 'SPONSORED'), ('reason', '(none)'),
        ('contract', 'contract-' || n), ('method', 'contract-' || n || ':burn'), ('account', '31337:0x' || n || ':'),
        ${policies.join(', ')}) AS one (dimension, value);
    INSERT INTO ledger.usage_day
    SELECT date_trunc('day', start, 'UTC'), organisation, paymaster_id, dimension, value, ${sums('sum(sponsored)')}
    FROM ledger.usage_hour GROUP BY 1, 2, 3, 4, 5;
    ANALYZE ledger.usage_hour;
    ANALYZE ledger.usage_day;`;
}
