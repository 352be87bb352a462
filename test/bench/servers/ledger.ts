import { join } from 'node:path';
import { createSqliteLedger } from '../../../adapters/ledger/sqlite/ledger.js';
import { createMetrics } from '../../../adapters/metrics/prometheus.js';
import type { LedgerFeed } from '../../../core/ledger/feed.js';
import { silentLogger } from '../../../core/log.js';
import { systemClock } from '../../../core/units/time.js';
import { createLedgerKeeping } from '../../../server/ledger/keeping.js';

/** Moves records to a ledger in SQLite files, as in a server that runs alone. */
export async function keepLedger(feed: LedgerFeed, directory: string): Promise<{ stop(): Promise<void> }> {
  const ledger = await createSqliteLedger({ directory: join(directory, 'ledger'), durability: 'process' });
  const keeping = createLedgerKeeping({
    feed,
    ledger,
    clock: systemClock,
    log: silentLogger,
    metrics: createMetrics(),
  });
  keeping.start();
  return {
    stop: async () => {
      await keeping.stop();
      await ledger.stop();
    },
  };
}
