import { parsePostgresUrl } from '../../../adapters/postgres/address.js';
import { createPostgres } from '../../../adapters/postgres/transactions.js';
import { pause } from '../../../adapters/timers.js';
import { readCost, untilIdle } from './component-metrics.js';
import type { BenchInstallation } from './installation.js';

/** What an installation costs that nobody uses, for each minute. */
export type Idle = { readonly apiCalls: number; readonly commits: number };

/** Counts for `seconds`; transactions that read count as those that write. */
export async function measureIdle(bench: BenchInstallation, seconds: number): Promise<Idle> {
  const { operator, replicas, cluster } = bench;
  const postgres = createPostgres({ address: parsePostgresUrl('url', cluster.postgres.url), poolSize: 1 });
  async function count(): Promise<Idle & { readonly at: number }> {
    const costs = await Promise.all([operator, ...replicas].map(readCost));
    const [row] = await postgres.transaction({ mode: 'read', timeoutMs: 10_000 }, (session) =>
      session.query(
        'SELECT xact_commit + xact_rollback AS ended FROM pg_stat_database WHERE datname = current_database()',
      ),
    );
    const apiCalls = costs.reduce((sum, { reads, writes }) => sum + reads + writes, 0);
    return { apiCalls, commits: Number(row?.['ended']), at: performance.now() };
  }
  try {
    await untilIdle(operator);
    const before = await count();
    await pause(seconds * 1000);
    const after = await count();
    const aMinute = (of: keyof Idle): number => ((after[of] - before[of]) * 60_000) / (after.at - before.at);
    return { apiCalls: aMinute('apiCalls'), commits: aMinute('commits') };
  } finally {
    await postgres.stop();
  }
}
