import type { Database } from '../../sqlite/database.js';
import { migrate } from '../../sqlite/migrate.js';
import { sqliteSteps } from './schema.js';

/** Brings the tables up to date. Throws UNAVAILABLE. */
export function migrateSqliteLedger(db: Database): void {
  migrate(db, 'ledger', sqliteSteps);
}
