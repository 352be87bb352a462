import { createSqliteEpochMirror } from '../../../adapters/store/sqlite/epoch-mirror.js';
import type { Database } from '../../../adapters/sqlite/database.js';
import { createSqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import type { PriceReferences } from '../../../core/pricing/price-jump.js';
import { isDomainError } from '../../../core/errors.js';
import { silentLogger } from '../../../core/log.js';
import type { LedgerWriter } from '../../../core/ledger/ledger.js';
import type { FollowerLease } from '../../../core/usage/follower-lease.js';
import type { Clock } from '../../../core/units/time.js';
import type { EpochMirror, UsageRecovery } from '../../../core/usage/epoch.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { openStore } from '../../adapters/usage/postgres-usage.js';
import { isSoak } from '../../support/soak-seconds.js';
import { until } from '../../support/until.js';

/** Where the same attack may be tried. */
export const stores = ['the embedded store', 'three replicas on PostgreSQL'] as const;
export type StoreKind = (typeof stores)[number];

/** Of an attack that no replica makes easier: the embedded store, which costs less; both by `make soak`. */
export const onOneProcess: readonly StoreKind[] = isSoak ? stores : [stores[0]];
/** Of an attack that replicas could make easier, because two of them decide at the same time; both by `make soak`. */
export const onReplicas: readonly StoreKind[] = isSoak ? stores : [stores[1]];

/** The usage store as one process opens it. */
export type OpenedStore = {
  readonly usage: UsageStore;
  readonly lease?: FollowerLease;
  readonly recovery: UsageRecovery;
  /** Where a server writes its records, if it has a ledger. */
  readonly records: LedgerWriter;
  readonly priceReferences: PriceReferences;
  stop(): Promise<void>;
};

/** The embedded store in a directory, with the copy of its epochs in another file, as in standalone. */
export function openEmbedded(
  directory: string,
  { db, clock }: { readonly db: Database; readonly clock: Clock },
): OpenedStore {
  const usage = createSqliteUsageStore({
    path: `${directory}/usage.db`,
    epochMirror: createSqliteEpochMirror({ db }),
    clock,
    log: silentLogger,
    durability: 'process',
  });
  const { recovery, ledger: records, prices: priceReferences } = usage;
  return { usage, recovery, records, priceReferences, stop: () => usage.stop() };
}

/** Three replicas; the copy of the epochs is in `epochMirror`, as the ConfigMap is. */
export function openReplicas(
  url: string,
  deps: { readonly epochMirror: EpochMirror; readonly clock: Clock },
): Promise<readonly OpenedStore[]> {
  const open = async (identity: string): Promise<OpenedStore> => {
    const usage = await opened(() => openStore(url, { identity, ...deps }));
    const { lease, recovery, ledger: records, prices: priceReferences } = usage;
    return { usage, lease, recovery, records, priceReferences, stop: () => usage.stop() };
  };
  return Promise.all(['replica-1', 'replica-2', 'replica-3'].map(open));
}

/** A process tries again when its first attempt fails, as it may where three at once prepare a database on a busy machine. */
async function opened<T>(open: () => Promise<T>): Promise<T> {
  let store: { readonly opened: T } | undefined;
  await until('the store is open', async () => {
    try {
      store = { opened: await open() };
    } catch (error) {
      if (!isDomainError(error, 'UNAVAILABLE')) throw error;
    }
    return store !== undefined;
  });
  return store!.opened;
}
