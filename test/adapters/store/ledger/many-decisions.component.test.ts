import { expect, test } from '@jest/globals';
import { postgresDialect } from '../../../../adapters/store/ledger/dialect.js';
import { endedReservations } from '../../../../adapters/store/ledger/ends.js';
import type { RecordId } from '../../../../core/ledger/record.js';
import { fillLedger } from '../../../bench/ledger-load.js';
import { sharedPostgres } from '../../../support/postgres.js';
import { openPostgresLedger } from './written.js';

// Sums and what-ifs look for the records of some hundred reservations. What PostgreSQL reads for that does not become more with the day:
// its planner once read all decisions of the day for each batch, seconds of it where a day has a million.

const day = 10_000;
const asked = 400;

type Plan = {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
};

/** Rows that all of its parts have read. */
function readBy(plan: Plan): number {
  const own = (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops'];
  return (plan.Plans ?? []).reduce((sum, part) => sum + readBy(part), own);
}

test('the records of some reservations are found by reading a few rows for each, however many decisions the day has', async () => {
  const server = await sharedPostgres();
  const url = await server.createDatabase('tables');
  const ledger = openPostgresLedger(url);
  try {
    await fillLedger(ledger, day);
    const run = (text: string, values: readonly unknown[]) =>
      ledger.postgres.transaction({ mode: 'read', timeoutMs: 60_000 }, (session) =>
        session.query(text, values),
      );
    const rows = await run(`SELECT reservation FROM ledger.settlement LIMIT ${asked}`, []);
    const names = rows.map((row) => String(row['reservation']) as RecordId);
    expect(names).toHaveLength(asked);
    const end = { decision: Number.MAX_SAFE_INTEGER, settlement: Number.MAX_SAFE_INTEGER, gap: 0 };
    // The part of a new day has no statistics for a while.
    for (const prepare of ['', 'ANALYZE']) {
      await server.query(url, prepare);
      const read: number[] = [];
      const query = async (text: string, values: readonly unknown[] = []) => {
        const [explained] = await run(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
        const [{ Plan: plan }] = explained!['QUERY PLAN'] as readonly [{ readonly Plan: Plan }];
        read.push(readBy(plan));
        return run(text, values);
      };
      const found = await endedReservations({ dialect: postgresDialect, query }, names, end);
      expect(found).toHaveLength(asked);
      expect(found.every(({ decisions, endings }) => decisions.length + endings.length === 2)).toBe(true);
      expect(read).toHaveLength(2);
      for (const each of read) expect(each).toBeLessThan(10 * asked);
    }
  } finally {
    await ledger.stop();
    await server.stop();
  }
});
