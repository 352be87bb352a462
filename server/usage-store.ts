import type { Ambient } from '../core/ambient.js';
import { createPostgresUsageStore } from '../adapters/store/postgres/usage.js';
import { createSqliteUsageStore } from '../adapters/usage/embedded/usage.js';
import { unreachable } from '../core/errors.js';
import type { LedgerFeed } from '../core/ledger/feed.js';
import type { FollowerLease } from '../core/policy/follower-lease.js';
import type { EpochMirror, UsageRecovery } from '../core/usage/epoch.js';
import type { FundingMessages } from '../core/usage/funding-messages.js';
import type { UsageReading, UsageStore } from '../core/usage/usage-store.js';
import { given } from '../core/units/given.js';
import type { UsageSettings } from './usage-settings.js';

/** A usage store, with the parts that the follower needs; an embedded store has one follower. */
export type OpenedUsage = {
  readonly usage: UsageStore;
  /** For processes that promise nothing. */
  readonly reading: UsageReading;
  /** The records that were given to `usage`, on their way to the ledger. */
  readonly feed: LedgerFeed;
  readonly messages: FundingMessages;
  readonly lease?: FollowerLease;
  readonly recovery?: UsageRecovery;
};

export type UsageStoreDeps = Ambient & {
  /** Unique per process. */
  readonly identity: string;
  /** Where a copy of the data's identity is kept; see the port. */
  readonly epochMirror?: EpochMirror;
  /** Room for records that wait in the embedded store, which signs as long as its disk has room. */
  readonly ledger?: { readonly budgetBytes?: number };
};

/** The store that the settings name. Connects to PostgreSQL in the background; until then every call throws UNAVAILABLE. */
export function createUsageStore(settings: UsageSettings, deps: UsageStoreDeps): OpenedUsage {
  switch (settings.kind) {
    case 'embedded': {
      const usage = createSqliteUsageStore({ ...deps, path: settings.path, durability: 'process' });
      const { feed, messages, recovery } = usage;
      return { usage, reading: usage, feed, messages, recovery };
    }
    case 'postgres': {
      // Not the clock: PostgreSQL gives the time.
      const { identity, epochMirror, log, metrics } = deps;
      const { address, passwordFile } = settings;
      const client = { address, ...given({ passwordFile }) };
      const usage = createPostgresUsageStore({ client, identity, ...given({ epochMirror }), log, metrics });
      const { reading, feed, lease, recovery } = usage;
      return { usage, reading, feed, messages: usage, lease, recovery };
    }
    default:
      return unreachable(settings);
  }
}
