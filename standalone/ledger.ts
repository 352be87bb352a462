import type { Ambient } from '../core/ambient.js';
import { createSqliteLedger } from '../adapters/ledger/sqlite/ledger.js';
import type { LedgerFeed } from '../core/ledger/feed.js';
import { createLedgerKeeping } from '../server/ledger/keeping.js';
import type { StandaloneConfig } from './config.js';
import type { Console } from './console.js';

export type RunningLedger = Awaited<ReturnType<typeof startLedger>>;

/** Opens the ledger of the data directory, and begins to move the records of the feed to it. Throws UNAVAILABLE. */
export async function startLedger(
  deps: Ambient & {
    readonly directory: string;
    readonly maxBytes: number;
    readonly durability: StandaloneConfig['durability'];
    readonly feed: LedgerFeed;
    readonly console: Pick<Console, 'warn'>;
  },
) {
  const { directory, maxBytes, durability, feed, clock, log, metrics, console } = deps;
  const ledger = await createSqliteLedger({
    directory,
    maxBytes,
    durability,
    onSetAside: (what) => {
      log.error('damaged ledger file set aside', what);
      console.warn(
        `${what.file} is damaged and was moved to ${what.movedTo}: what it recorded is missing from answers`,
      );
    },
  });
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
