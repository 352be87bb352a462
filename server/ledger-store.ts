import { createSqliteLedger } from '../adapters/ledger/sqlite/ledger.js';
import type { Ledger } from '../core/ledger/ledger.js';
import type { LedgerStoreSettings } from './ledger-settings.js';

/** The ledger that the settings name. Throws UNAVAILABLE when it cannot be opened at all. */
export function openLedger({ directory, retention }: LedgerStoreSettings): Promise<Ledger> {
  return createSqliteLedger({ directory, durability: 'process', retention });
}
