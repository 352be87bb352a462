import type { Logger } from '../../../core/log.js';
import type { UsageOverRows } from '../../../core/usage/usage-over-rows.js';
import type { PostgresProcess } from './process.js';
import { serverNow } from './statements.js';

const everyMs = 60_000;
/** A writer that has not written for so long has ended without a word. */
const dayMs = 86_400_000;

/** Forgets, now and then, what no turn will ask for: windows that ended, fences that nobody names, and writers that have ended. */
export function startMaintenance(
  rows: Pick<PostgresProcess, 'query' | 'watch'>,
  usage: Pick<UsageOverRows, 'forget'>,
  log: Logger,
): { stop(): Promise<void> } {
  let running = Promise.resolve();
  let isStopped = false;
  const timer = setInterval(() => {
    running = running.then(run);
  }, everyMs).unref();

  async function run(): Promise<void> {
    try {
      for (const { chain_id: id } of await rows.query('SELECT chain_id FROM usage.chain')) {
        const chainId = Number(id);
        await rows.watch(chainId);
        while (!isStopped && (await usage.forget(chainId)));
      }
      if (!isStopped) await forgetWriters(rows);
    } catch (error) {
      log.warn('forgetting ended windows failed', { error });
    }
  }

  return {
    async stop() {
      isStopped = true;
      clearInterval(timer);
      await running;
    },
  };
}

/**
 * A writer is first marked as retired, and its row is removed a day later, so that every process has seen the mark: one that has not
 * takes a missing row for lost data. What it had counted stays in the sum of all.
 */
export async function forgetWriters(rows: Pick<PostgresProcess, 'query'>): Promise<void> {
  await rows.query(
    `WITH gone AS (DELETE FROM usage.writer WHERE retired_at < ${serverNow} - $1 RETURNING sequence)
     UPDATE usage.database SET retired_sequence = retired_sequence + (SELECT sum(sequence) FROM gone)
     WHERE EXISTS (SELECT FROM gone)`,
    [dayMs],
  );
  await rows.query(
    `UPDATE usage.writer SET retired_at = ${serverNow} WHERE retired_at IS NULL AND at < ${serverNow} - $1`,
    [dayMs],
  );
}
