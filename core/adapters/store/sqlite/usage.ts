import { DomainError } from '../../../errors.js';
import { noMetrics } from '../../../metrics.js';
import { createMemoryEpochMirror, type EpochMirror, type UsageRecovery } from '../../../usage/epoch.js';
import type { UsageStore } from '../../../policy/usage-store.js';
import { UsageEpochs } from '../usage-epochs.js';
import { JournalledUsageStore, type JournalledUsageDeps } from './journalled-usage.js';
import { guardEpochs } from './usage-epoch-guard.js';
import { openUsageJournal, type Durability } from './usage-journal.js';

export type SqliteUsageOptions = Omit<JournalledUsageDeps, 'journal'> & {
  readonly path: string;
  readonly durability: Durability;
  /** Where the epoch's copy is. Default: this process, which does not notice a loss across its own restart. */
  readonly epochMirror?: EpochMirror;
};

export type SqliteUsageStore = UsageStore & { readonly recovery: UsageRecovery };

/**
 * Promises are rarely made for longer than some minutes here, so a loss is over soon: each longer one is noted in the
 * copy first, which is a write to another file of this process.
 */
const expiryStepMs = 600_000;

/**
 * The embedded usage store: decides in memory, for one process; a second one that opens the same file is refused with
 * UNAVAILABLE. While the file lacks what its epoch's copy says it had, calls about the chain are UNAVAILABLE
 * (USAGE_STORE_LOST).
 */
export function createSqliteUsageStore(options: SqliteUsageOptions): SqliteUsageStore {
  const { log, clock, metrics = noMetrics } = options;
  const store = open(options);
  const epochs = new UsageEpochs({
    store,
    mirror: options.epochMirror ?? createMemoryEpochMirror(),
    expiryStepMs,
    log,
    metrics,
  });
  return guardEpochs({ store, epochs, clock });
}

function open(options: SqliteUsageOptions): JournalledUsageStore {
  try {
    const journal = openUsageJournal(options.path, options.durability);
    return new JournalledUsageStore({ ...options, journal });
  } catch (cause) {
    const why = cause instanceof Error ? ` (${cause.message})` : '';
    throw new DomainError(
      'UNAVAILABLE',
      `the usage store ${options.path} cannot be opened${why}: is another process using it, or is the file damaged?`,
      {
        reason: 'USAGE_STORE_DOWN',
        cause,
      },
    );
  }
}
