import { createSqliteEpochMirror } from '../../../adapters/store/sqlite/epoch-mirror.js';
import type { Database } from '../../../adapters/sqlite/database.js';
import { createSqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import { silentLogger } from '../../../core/log.js';
import type { LedgerWriter } from '../../../core/ledger/ledger.js';
import type { FollowerLease } from '../../../core/policy/follower-lease.js';
import type { Clock } from '../../../core/units/time.js';
import type { EpochMirror, UsageRecovery } from '../../../core/usage/epoch.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { openStore } from '../../adapters/usage/postgres-usage.js';
import { isSoak } from '../../support/soak-seconds.js';

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
  return { usage, recovery: usage.recovery, records: usage.ledger, stop: () => usage.stop() };
}

/** Three replicas; the copy of the epochs is in `epochMirror`, as the ConfigMap is. */
export function openReplicas(
  url: string,
  deps: { readonly epochMirror: EpochMirror; readonly clock: Clock },
): Promise<readonly OpenedStore[]> {
  const open = async (identity: string): Promise<OpenedStore> => {
    const usage = await openStore(url, { identity, ...deps });
    const { lease, recovery, ledger: records } = usage;
    return { usage, lease, recovery, records, stop: () => usage.stop() };
  };
  return Promise.all(['replica-1', 'replica-2', 'replica-3'].map(open));
}
