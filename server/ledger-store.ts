import { createPostgresLedger } from '../adapters/ledger/postgres/ledger.js';
import { createSqliteLedger } from '../adapters/ledger/sqlite/ledger.js';
import { unreachable } from '../core/errors.js';
import type { Ledger } from '../core/ledger/ledger.js';
import type { LedgerStoreSettings } from './ledger-settings.js';

/**
 * The ledger that the settings name. PostgreSQL may be away: it is connected to when it is first used. Throws
 * UNAVAILABLE when files cannot be opened at all.
 */
export async function openLedger(settings: LedgerStoreSettings): Promise<Ledger> {
  switch (settings.kind) {
    case 'sqlite':
      return createSqliteLedger({ ...settings, durability: 'process' });
    case 'postgres':
      return createPostgresLedger(settings);
    default:
      return unreachable(settings);
  }
}
