import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createMemoryEpochMirror } from '../../../core/usage/epoch.js';
import { startPostgres, type PostgresServer } from '../../support/postgres.js';
import { runs } from '../../support/property.js';
import { isSoak } from '../../support/soak-seconds.js';
import { aClock } from './clock.js';
import { checkCommits, commitSteps } from './commit-steps.js';
import { openStore } from './postgres-usage.js';
import { newRecords, recordsInPostgres } from './written-records.js';
import { checkAgainstModel, type Subject } from './usage-difference.js';
import { manySteps } from './usage-steps.js';

let server: PostgresServer;

beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

test('on PostgreSQL, too, every answer is the model’s in any interleaving of calls, clock steps, restarts and kills', async () => {
  await fc.assert(
    fc.asyncProperty(manySteps, async (steps) => checkAgainstModel(steps, await aSubject())),
    runs(isSoak ? 600 : 4),
  );
}, 900_000);

test('on three replicas a finalize at the moment at which its commit ends never leaves a promise without a reservation', async () => {
  const histories = isSoak ? 40 : 8;
  let signed = 0;
  await fc.assert(
    fc.asyncProperty(commitSteps, async (steps) => {
      const clock = aClock();
      const url = await server.createDatabase();
      const options = { clock, epochMirror: createMemoryEpochMirror() };
      const stores = await Promise.all([1, 2, 3].map(() => openStore(url, options)));
      try {
        signed += (await checkCommits(steps, stores, clock)).signed;
      } finally {
        for (const store of stores) await store.stop();
      }
    }),
    runs(histories),
  );
  expect(signed).toBeGreaterThan(histories / 2);
});

/** `restart` replaces the replica; `crash` also kills the server with -9. */
async function aSubject(): Promise<Subject> {
  const clock = aClock();
  const url = await server.createDatabase();
  const options = { clock, epochMirror: createMemoryEpochMirror() };
  let store = await openStore(url, options);
  const restart = async () => {
    await store.stop();
    store = await openStore(url, options);
    return store;
  };
  return {
    store,
    clock,
    takeRecords: newRecords(() => recordsInPostgres(server, url)),
    restart,
    crash: async () => {
      await server.kill();
      await server.start();
      return restart();
    },
    stop: () => store.stop(),
  };
}
