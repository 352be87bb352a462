import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSqliteLedger } from '../../adapters/ledger/sqlite/ledger.js';
import { openMonthFile, type MonthFile } from '../../adapters/ledger/sqlite/month-file.js';
import type { Ledger } from '../../core/ledger/ledger.js';
import type { RollupDimension } from '../../core/ledger/shares.js';
import type { Goal } from './goals.js';
import { fillLedger, ledgerMonth, measureUsageQuery } from './ledger-load.js';

export type LedgerQueryResult = {
  readonly decisions: number;
  readonly goals: readonly Goal[];
};

const ingested = 60_000;
const queries = 100;

/** The ledger in SQLite files: how fast it stores, and how fast it answers a month's usage per policy and day. */
export async function measureLedgerQuery(): Promise<LedgerQueryResult> {
  const rate = await inDirectory(async (directory) => {
    const ledger = await open(directory);
    const { decisions, seconds } = await fillLedger(ledger, ingested);
    await ledger.stop();
    return decisions / seconds;
  });
  return inDirectory(async (directory) => {
    const decisions = makeMonth(join(directory, 'ledger-2026-10.sqlite'));
    const ledger = await open(directory);
    const p95 = await measureUsageQuery(ledger, queries);
    await ledger.stop();
    const goals: Goal[] = [
      { name: 'SQLite ledger: decisions stored per second', value: Math.round(rate), unit: 'count' },
      {
        name: 'SQLite ledger: p95 of 30 days per policy and day, 10^7 decisions',
        value: p95,
        unit: 'ms',
        required: { atMost: 100 },
      },
    ];
    return { decisions, goals };
  });
}

async function inDirectory<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'ledger-bench-'));
  try {
    return await work(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function open(directory: string): Promise<Ledger> {
  return createSqliteLedger({ directory, durability: 'process' });
}

/**
 * Writes the roll-ups of 10^7 decisions straight into a month's file, as appending them would leave them: every value
 * has a row for each minute, hour and day. The decisions themselves, which such a question does not read, are left out:
 * they would take half an hour and 20 GB. Answers their number.
 */
function makeMonth(path: string): number {
  const month = openMonthFile(path, { durability: 'process' });
  try {
    month.transaction(() => {
      const organisation = month.ownOrganisation(ledgerMonth.organisation);
      for (let paymaster = 0; paymaster < ledgerMonth.paymasters; paymaster += 1) {
        const paymasterId = `paymaster-${paymaster}`;
        const add = (dimension: RollupDimension, value: string): number =>
          month.ownSeries({ organisation, dimension, paymasterId, value });
        add('operation', '31337\tSPONSORED\t(none)');
        for (let policy = 0; policy < ledgerMonth.policiesEach; policy += 1)
          add('policy', `policy-${paymaster}-${policy}`);
        add('contract', `contract-${paymaster}`);
        add('method', `contract-${paymaster}:burn`);
      }
      addRollups(month);
      month.widen(ledgerMonth.from);
      month.widen((ledgerMonth.to - 1) as typeof ledgerMonth.to);
    });
    const row = month
      .statement(
        "SELECT SUM(sponsored) AS decisions FROM rollups WHERE unit = 1440 AND series IN (SELECT id FROM series WHERE dimension = 'operation')",
      )
      .get();
    return Number(row?.['decisions']);
  } finally {
    month.close();
  }
}

/** Seven decisions of each paymaster in three minutes, each for 400 µcoins at most; the hours and days are their sums. */
function addRollups(month: MonthFile): void {
  const [from, to] = [ledgerMonth.from / 60_000, ledgerMonth.to / 60_000];
  const { sql } = month.database;
  const count = '(2 + (at % 3 = 0))';
  const numbers = (below: number): string =>
    `WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${below - 1})`;
  const sums = (decisions: string): string =>
    `${decisions}, 0, ${decisions}, 0, 0, CAST(${decisions} * 400000000000000 AS TEXT), CAST(${decisions} * 250000000000000 AS TEXT), NULL`;
  sql.exec(`
    ${numbers(60)}
    INSERT INTO rollups SELECT 1, hour, series, at, ${sums(count)} FROM (
      SELECT hour, series.id AS series, hour + n AS at
      FROM (${numbers((to - from) / 60)} SELECT ${from} + n * 60 AS hour FROM numbers), series, numbers
      ORDER BY hour, series.id, n);
    INSERT INTO rollups SELECT 60, bucket - bucket % 1440, series, bucket, ${sums('SUM(sponsored)')}
      FROM rollups WHERE unit = 1 GROUP BY bucket, series ORDER BY 2, 3, 4;
    INSERT INTO rollups SELECT 1440, 0, series, bucket, ${sums('SUM(sponsored)')}
      FROM rollups WHERE unit = 60 GROUP BY bucket, series ORDER BY 3, 4;`);
}
