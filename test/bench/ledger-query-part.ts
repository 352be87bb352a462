import type { EpochMs } from '../../core/units/time.js';
import { openSqliteLedger } from '../adapters/store/ledger/written.js';
import { holdsOf } from '../support/loop-holds.js';
import type { Goal } from './goals.js';
import type { BenchOptions } from './options.js';
import { fillLedger, ledgerMonth, measureUsageQuery } from './ledger-load.js';

export type LedgerQueryResult = {
  readonly decisions: number;
  readonly goals: readonly Goal[];
};

/**
 * The ledger in the file of the embedded store: how fast decisions and settlements are written, 500 a turn, and what questions to a
 * million of them cost the thread that signs, and take.
 */
export async function measureLedgerQuery({ count }: Pick<BenchOptions, 'count'>): Promise<LedgerQueryResult> {
  const decisions = count(1_000_000);
  const ledger = await openSqliteLedger();
  try {
    const { seconds } = await fillLedger(ledger, decisions);
    const { organisation } = ledgerMonth;
    const range = { organisation, from: ledgerMonth.from, to: (ledgerMonth.to + 1) as EpochMs };
    const { longestMs } = await holdsOf(async () => {
      for (const filters of [{}, { reason: 'NO_SUCH_REASON' }, { sender: `0x${'ab'.repeat(20)}` as const }])
        await ledger.decisions({ ...range, ...filters, limit: 500 } as Parameters<
          typeof ledger.decisions
        >[0]);
    });
    const p95 = await measureUsageQuery(ledger, count(20));
    const goals: Goal[] = [
      {
        name: 'SQLite ledger: decisions written and summed per second',
        value: Math.round(decisions / seconds),
        unit: 'count',
      },
      {
        name: 'SQLite ledger: longest hold of the event loop while all decisions are searched',
        value: longestMs,
        unit: 'ms',
        required: { atMost: 20 },
      },
      { name: 'SQLite ledger: p95 of 30 days per policy and day, all decisions', value: p95, unit: 'ms' },
    ];
    return { decisions, goals };
  } finally {
    await ledger.stop();
  }
}
