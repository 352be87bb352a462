import type { Ambient } from '../core/ambient.js';
import { createSqliteLedger } from '../adapters/ledger/sqlite/ledger.js';
import type { LedgerFeed } from '../core/ledger/feed.js';
import { createLedgerKeeping } from '../server/ledger/keeping.js';
import type { StandaloneConfig } from './config.js';

export type RunningLedger = Awaited<ReturnType<typeof startLedger>>;

/** Opens the ledger of the data directory, and begins to move the records of the feed to it. Throws UNAVAILABLE. */
export async function startLedger(
  deps: Ambient & {
    readonly directory: string;
    readonly durability: StandaloneConfig['durability'];
    readonly feed: LedgerFeed;
  },
) {
  const { directory, durability, feed, clock, log, metrics } = deps;
  const ledger = await createSqliteLedger({ directory, durability });
  const keeping = createLedgerKeeping({ feed, ledger, clock, log, metrics });
  keeping.start();
  return {
    ledger,
    /** Stores what waits in the feed, which belongs to the caller. */
    async stop(): Promise<void> {
      await keeping.stop();
      await ledger.stop();
    },
  };
}
