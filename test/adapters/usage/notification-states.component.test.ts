import { afterAll, describe } from '@jest/globals';
import { createStops } from '../../../adapters/process/stops.js';
import { createSqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import { silentLogger } from '../../../core/log.js';
import { describeNotificationStates } from '../../conformance/notification-states.js';
import { sharedPostgres, type SharedPostgres } from '../../support/postgres.js';
import { aClock } from './clock.js';
import { openStore } from './postgres-usage.js';
import { aDirectory } from './sqlite-usage.js';

const stops = createStops();
afterAll(() => stops.run());

describeNotificationStates('SQLite', async () => {
  const directory = aDirectory();
  stops.add(() => directory.remove());
  const clock = aClock();
  const options = { path: `${directory.path}/usage.db`, clock, log: silentLogger };
  const { texts, stop } = createSqliteUsageStore({ ...options, durability: 'process' });
  stops.add(stop);
  return { one: texts, other: texts, clock };
});

describe('with a server', () => {
  let server: SharedPostgres | undefined;
  describeNotificationStates('PostgreSQL', async () => {
    if (server === undefined) {
      const started = await sharedPostgres();
      stops.add(() => started.stop());
      server = started;
    }
    const url = await server.createDatabase('tables');
    const clock = aClock();
    const open = async (identity: string) => {
      const store = await openStore(url, { identity, clock });
      stops.add(() => store.stop());
      return store;
    };
    return { one: await open('one'), other: await open('other'), clock };
  });
});
