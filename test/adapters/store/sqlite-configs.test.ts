import { expect, test } from '@jest/globals';
import { createSqliteConfigStore } from '../../../adapters/configs/sqlite/configs.js';
import { plusMs, systemClock } from '../../../core/units/time.js';
import { configStoreConformance } from '../../conformance/config-store.js';
import { aPaymasterConfig } from '../../build/configs.js';
import { aDatabase } from './sqlite-harness.js';

configStoreConformance('SQLite', async () => {
  const database = aDatabase();
  return {
    store: createSqliteConfigStore({ db: database.open(), clock: systemClock }),
    reopen: async () => createSqliteConfigStore({ db: database.reopen(), clock: systemClock }),
    stop: () => database.stop(),
  };
});

test('a file that was lost goes on above the generations of the one before, which usage stores have seen', async () => {
  let now = systemClock.now();
  const generationAfter = async (changes: number): Promise<number> => {
    const database = aDatabase();
    const store = createSqliteConfigStore({ db: database.open(), clock: { now: () => now } });
    let last = 0;
    for (let change = 0; change < changes; change += 1) {
      const config = aPaymasterConfig({ maxExpirySeconds: 100 + change });
      last = (await store.putPaymaster(config)).configGeneration;
    }
    await database.stop();
    return last;
  };
  const before = await generationAfter(20);
  now = plusMs(now, 1000);
  expect(await generationAfter(1)).toBeGreaterThan(before);
});
