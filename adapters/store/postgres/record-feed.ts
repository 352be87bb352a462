import type { FeedEntry, FeedState, LedgerFeed } from '../../../core/ledger/feed.js';
import { formatLines } from '../../../core/ledger/record-lines.js';
import { pause } from '../../pause.js';
import type { PostgresRows } from './postgres-rows.js';
import { textOf } from './turn-rows.js';

const pollMs = 100;
/** What was read and not acknowledged is read again after so long, also by another process. */
const claimAfterMs = 10_000;

/** The records of turns on their way to a ledger in another database. Goes when the ledger is tables beside the usage tables. */
export function recordFeed(rows: Pick<PostgresRows, 'query'>): LedgerFeed {
  const taken = new Map<string, number>();
  const stopped = new AbortController();

  async function take(limit: number): Promise<readonly FeedEntry[]> {
    const now = performance.now();
    for (const [position, at] of taken) if (at + claimAfterMs < now) taken.delete(position);
    const found = await rows.query(
      'SELECT * FROM usage.record WHERE number <> ALL($1::bigint[]) ORDER BY number LIMIT $2',
      [[...taken.keys()], limit],
    );
    return found.map((row) => {
      const position = String(row['number']);
      taken.set(position, now);
      const reservation = row['reservation'] === null ? undefined : textOf(row, 'reservation');
      const context = row['context'] === null ? {} : { context: textOf(row, 'context') };
      const text = formatLines([{ reservation, text: textOf(row, 'text'), ...context }]);
      return { chainId: Number(row['chain_id']), position, text };
    });
  }

  return {
    async read(limit, waitMs) {
      const until = performance.now() + waitMs;
      for (;;) {
        const found = await take(limit);
        const rest = until - performance.now();
        if (found.length > 0 || rest <= 0 || stopped.signal.aborted) return found;
        await pause(Math.min(pollMs, rest), stopped.signal);
      }
    },
    async acknowledge(entries) {
      const positions = entries.map(({ position }) => position);
      await rows.query('DELETE FROM usage.record WHERE number = ANY($1::bigint[])', [positions]);
      for (const position of positions) taken.delete(position);
    },
    async offer(chainId, texts) {
      await rows.query('INSERT INTO usage.record (chain_id, text) SELECT $1, unnest($2::text[])', [
        chainId,
        [...texts],
      ]);
    },
    async state(): Promise<FeedState> {
      const [row] = await rows.query(
        'SELECT count(*) AS length, coalesce(sum(octet_length(text)), 0)::bigint AS bytes FROM usage.record',
      );
      return { length: Number(row?.['length']), bytes: Number(row?.['bytes']), lagMs: 0, fullness: 0 };
    },
    stop: async () => stopped.abort(),
  };
}
