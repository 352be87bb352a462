import { createSqliteConfigStore } from '../../../core/adapters/store/sqlite/configs.js';
import { systemClock as clock } from '../../../core/units/time.js';
import { configStoreConformance } from '../../conformance/config-store.js';
import { aDatabase } from './sqlite-harness.js';

configStoreConformance('SQLite', async () => {
  const database = aDatabase();
  return {
    store: createSqliteConfigStore({ db: database.open(), clock }),
    reopen: async () => createSqliteConfigStore({ db: database.reopen(), clock }),
    stop: () => database.stop(),
  };
});
