import { createSqliteResourceStore } from '../../../adapters/resources/sqlite/resources.js';
import { systemClock as clock } from '../../../core/units/time.js';
import { resourceStoreConformance } from '../../conformance/resource-store.js';
import { aDatabase } from './sqlite-harness.js';

resourceStoreConformance('SQLite', async () => {
  const database = aDatabase();
  return {
    store: createSqliteResourceStore({ db: database.open(), clock }),
    reopen: async () => createSqliteResourceStore({ db: database.reopen(), clock }),
    stop: () => database.stop(),
  };
});
