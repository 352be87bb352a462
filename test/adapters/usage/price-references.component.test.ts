import { afterAll, describe } from '@jest/globals';
import { createMemoryReferences } from '../../../core/pricing/price-jump.js';
import { describePriceReferences } from '../../conformance/price-references.js';
import { silentLogger } from '../../../core/log.js';
import { createSqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import { createStops } from '../../../adapters/process/stops.js';
import { sharedPostgres, type SharedPostgres } from '../../support/postgres.js';
import { aClock } from './clock.js';
import { openStore } from './postgres-usage.js';
import { aDirectory } from './sqlite-usage.js';

const stops = createStops();
afterAll(() => stops.run());

describePriceReferences('memory', async () => {
  const one = createMemoryReferences();
  return { one, other: one };
});

describePriceReferences('SQLite', async () => {
  const directory = aDirectory();
  stops.add(() => directory.remove());
  const options = { path: `${directory.path}/usage.db`, clock: aClock(), log: silentLogger };
  const store = createSqliteUsageStore({ ...options, durability: 'process' });
  stops.add(() => store.stop());
  return { one: store.prices, other: store.prices };
});

describe('with a server', () => {
  let server: SharedPostgres | undefined;
  describePriceReferences('PostgreSQL', async () => {
    if (server === undefined) {
      const started = await sharedPostgres();
      stops.add(() => started.stop());
      server = started;
    }
    const url = await server.createDatabase('tables');
    const open = async (identity: string) => {
      const store = await openStore(url, { identity });
      stops.add(() => store.stop());
      return store.prices;
    };
    return { one: await open('one'), other: await open('other') };
  });
});
