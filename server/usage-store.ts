import type { Ambient } from '../core/ambient.js';
import { createPostgresLedger } from '../adapters/store/ledger/postgres-ledger.js';
import { createSqliteLedger } from '../adapters/store/ledger/sqlite-ledger.js';
import { createPostgresUsageStore } from '../adapters/store/postgres/usage.js';
import { createSqliteUsageStore } from '../adapters/store/sqlite/usage.js';
import { unreachable } from '../core/errors.js';
import type { Ledger, LedgerMaintenance, LedgerWriter } from '../core/ledger/ledger.js';
import type { FollowerLease } from '../core/usage/follower-lease.js';
import type { EpochMirror, UsageRecovery } from '../core/usage/epoch.js';
import type { PriceReferences } from '../core/pricing/price-jump.js';
import type { KeptTexts } from '../core/usage/kept-texts.js';
import type { UsageReading, UsageStore } from '../core/usage/usage-store.js';
import { given } from '../core/units/given.js';
import type { LedgerSettings } from './ledger-settings.js';
import type { UsageSettings } from '../adapters/store/usage-settings.js';

/** A usage store, with the parts that the follower needs; an embedded store has one follower. */
type OpenedUsage = {
  readonly usage: UsageStore;
  /** For processes that promise nothing. */
  readonly reading: UsageReading;
  /** For records of no promise. */
  readonly records: LedgerWriter;
  readonly texts: KeptTexts;
  /** The last accepted prices. */
  readonly priceReferences: PriceReferences;
  readonly lease?: FollowerLease;
  readonly recovery?: UsageRecovery;
};

type UsageStoreDeps = Ambient & {
  /** Unique per process. */
  readonly identity: string;
  /** Where a copy of the data's identity is kept; see the port. */
  readonly epochMirror?: EpochMirror;
};

/** The store that the settings name. Connects to PostgreSQL in the background; until then every call throws UNAVAILABLE. */
export function createUsageStore(settings: UsageSettings, deps: UsageStoreDeps): OpenedUsage {
  switch (settings.kind) {
    case 'embedded': {
      const { path, durability } = settings;
      const usage = createSqliteUsageStore({ ...deps, path, durability });
      const { ledger: records, texts, recovery, prices: priceReferences } = usage;
      return { usage, reading: usage, records, texts, recovery, priceReferences };
    }
    case 'postgres': {
      // Not the clock: PostgreSQL gives the time.
      const { identity, epochMirror, log, metrics } = deps;
      const { address, passwordFile } = settings;
      const client = { address, ...given({ passwordFile }) };
      const usage = createPostgresUsageStore({ client, identity, ...given({ epochMirror }), log, metrics });
      const { reading, ledger: records, lease, recovery, prices: priceReferences } = usage;
      return { usage, reading, records, texts: usage, lease, recovery, priceReferences };
    }
    default:
      return unreachable(settings);
  }
}

/**
 * The ledger in the database of the usage store, on separate connections. An embedded store must be open. PostgreSQL may be away: it is
 * connected to when it is first used.
 */
export async function openLedger(
  settings: UsageSettings,
  { retention, maxBytes }: LedgerSettings,
  { clock }: Pick<Ambient, 'clock'>,
): Promise<Ledger & LedgerMaintenance> {
  switch (settings.kind) {
    case 'embedded':
      return createSqliteLedger({ path: settings.path, retention, maxBytes });
    case 'postgres': {
      const { address, passwordFile } = settings;
      return createPostgresLedger({ address, ...given({ passwordFile }), retention, maxBytes, clock });
    }
    default:
      return unreachable(settings);
  }
}
