import type { Logger } from '../../../core/log.js';
import type { UsageOverRows } from '../../../core/usage/usage-over-rows.js';
import type { PostgresProcess } from './process.js';

const everyMs = 60_000;
/** A writer that has not written for so long has ended without a word. */
const endedAfterMs = 86_400_000;

/** Forgets, now and then, what no turn will ask for: windows that ended, fences that nobody names, and writers that have ended. */
export function startUpkeep(
  rows: Pick<PostgresProcess, 'query' | 'now' | 'watch'>,
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
 * A writer is first marked as retired, so that every process sees that before its row is removed a day later. What it had counted stays
 * in the sum of all.
 */
export async function forgetWriters(rows: Pick<PostgresProcess, 'query' | 'now'>): Promise<void> {
  const now = rows.now();
  await rows.query(
    `WITH gone AS (DELETE FROM usage.writer WHERE is_retired AND at < $1 RETURNING sequence)
     UPDATE usage.database SET retired_sequence = retired_sequence + (SELECT sum(sequence) FROM gone)
     WHERE EXISTS (SELECT FROM gone)`,
    [now - 2 * endedAfterMs],
  );
  await rows.query('UPDATE usage.writer SET is_retired = true WHERE NOT is_retired AND at < $1', [
    now - endedAfterMs,
  ]);
}
