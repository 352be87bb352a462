import type { Ambient } from '../../../core/ambient.js';
import { noMetrics, type Metrics } from '../../../core/metrics.js';
import type { LedgerWriter } from '../../../core/ledger/ledger.js';
import { createMemoryEpochMirror, type EpochMirror, type UsageRecovery } from '../../../core/usage/epoch.js';
import type { PriceReferences } from '../../../core/pricing/price-jump.js';
import type { KeptTexts } from '../../../core/usage/kept-texts.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { notedReserve } from '../noted-reserve.js';
import { UsageEpochs } from '../usage-epochs.js';
import { usageOver } from '../../../core/usage/usage-over-rows.js';
import { UsageFullness } from '../usage-fullness.js';
import { openDatabase, type Database } from '../../sqlite/database.js';
import { SqliteRows } from './sqlite-rows.js';
import { migrateSqliteLedger } from '../ledger/sqlite-tables.js';
import { createSqliteLedgerWriter } from '../ledger/write.js';
import { createSqlitePriceReferences } from './price-references.js';
import { createUsageTables } from './usage-tables.js';

type SqliteUsageOptions = Pick<Ambient, 'clock' | 'log'> & {
  readonly path: string;
  /**
   * `process`: an accepted write survives kill -9 of the process. `power`: it also survives loss of power, at the cost
   * of a sync.
   */
  readonly durability: 'process' | 'power';
  /** Where the epoch's copy is kept. Default: in this process, which does not notice a loss across its own restart. */
  readonly epochMirror?: EpochMirror;
  readonly metrics?: Metrics;
};

export type SqliteUsageStore = UsageStore & {
  readonly recovery: UsageRecovery;
  readonly texts: KeptTexts;
  readonly prices: PriceReferences;
  /** For records of no promise; those that `reserve` and `advance` are given are written with them. */
  readonly ledger: LedgerWriter;
  /** Updates the epoch's copy now. It is also updated every few seconds and at a stop. Throws UNAVAILABLE. */
  mirror(): Promise<void>;
};

/**
 * The embedded usage store. It decides in memory, for one process; a second process that opens the same file is refused
 * with UNAVAILABLE. While the file lacks data that it had according to its epoch's copy, calls about the chain are
 * UNAVAILABLE (USAGE_STORE_LOST).
 */
export function createSqliteUsageStore(options: SqliteUsageOptions): SqliteUsageStore {
  return createUsageStoreOver(openUsageDatabase(options), options);
}

/** The same store over a database that was opened with {@link openUsageDatabase}; it is closed with the store. */
export function createUsageStoreOver(
  db: Database,
  options: Omit<SqliteUsageOptions, 'path' | 'durability'>,
): SqliteUsageStore {
  const { log, clock, metrics = noMetrics } = options;
  try {
    const rows = new SqliteRows({
      clock,
      log,
      metrics,
      tables: createUsageTables(db, createSqliteLedgerWriter(db)),
      epochs: () => epochs,
      onMaintenance: (chainId) => void forget(chainId),
    });
    const usage = usageOver(rows, new UsageFullness(metrics, clock));
    const forget = async (chainId: number): Promise<void> => {
      try {
        // What nobody has compared with its copy stays as it is.
        while (epochs.known(chainId) !== undefined && (await usage.forget(chainId)));
      } catch (error) {
        log.warn('forgetting ended windows failed', { chainId, error });
      }
    };
    const mirror = options.epochMirror ?? createMemoryEpochMirror();
    const epochs = new UsageEpochs({ store: rows, mirror, clock, log, metrics });
    const noted = notedReserve(
      (request) => usage.push(request),
      epochs,
      ({ promise }) => promise.validUntil * 1000 - clock.now(),
    );
    return {
      ...usage,
      push: (request) => noted.push(request),
      reserve: async (request) => noted.push(request),
      capacity: () => Infinity,
      ping: () => rows.ping(),
      async stop() {
        await noted.ended();
        await rows.drain();
        await epochs.stop();
        await rows.stop();
      },
      recovery: epochs,
      texts: rows,
      prices: createSqlitePriceReferences(db),
      ledger: rows,
      mirror: async () => void (await epochs.raise()),
    };
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Opens or creates the file. Throws UNAVAILABLE with a message that says what to do. */
export function openUsageDatabase({
  path,
  durability,
}: Pick<SqliteUsageOptions, 'path' | 'durability'>): Database {
  const db = openDatabase(path, { durability, exclusive: true });
  try {
    // Checkpoints: see UsageMaintenance. Threads of this process read the ledger in the same file.
    db.run(() => db.sql.exec('PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 67108864'));
    migrateSqliteLedger(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}
