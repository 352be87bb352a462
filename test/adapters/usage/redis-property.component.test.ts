import { afterAll, beforeAll, test } from '@jest/globals';
import fc from 'fast-check';
import { createMemoryEpochMirror } from '../../../core/usage/epoch.js';
import { isSoak } from '../../support/soak-seconds.js';
import { runs } from '../../support/property.js';
import { startRedis, type RedisServer } from '../../support/redis.js';
import { recordsOf } from './added-records.js';
import { openStore } from './redis-usage.js';
import { aClock } from './clock.js';
import { checkAgainstModel, type Subject } from './usage-difference.js';
import { manySteps } from './usage-steps.js';

let server: RedisServer;
let subjects = 0;

beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('on Redis, too, every answer is the model’s in any interleaving of calls, clock steps, restarts and kills', async () => {
  await fc.assert(
    fc.asyncProperty(manySteps, async (steps) => checkAgainstModel(steps, await aSubject())),
    runs(isSoak ? 600 : 80),
  );
}, 900_000);

/** `restart` replaces the replica; `crash` also kills redis-server with -9. */
async function aSubject(): Promise<Subject> {
  const clock = aClock();
  const options = { keyPrefix: `run-${(subjects += 1)}:`, clock, epochMirror: createMemoryEpochMirror() };
  let store = await openStore(server.url, options);
  const restart = async () => {
    await store.stop();
    store = await openStore(server.url, options);
    return store;
  };
  return {
    store,
    clock,
    takeRecords: () => recordsOf(store.feed),
    restart,
    crash: async () => {
      await server.kill();
      await server.start();
      return restart();
    },
    stop: () => store.stop(),
  };
}
