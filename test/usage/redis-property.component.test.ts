import { afterAll, beforeAll, test } from '@jest/globals';
import fc from 'fast-check';
import { createMemoryEpochMirror } from '../../core/usage/epoch.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { openStore } from './redis-usage.js';
import { aClock } from './sqlite-usage.js';
import { checkAgainstModel, type Subject } from './usage-difference.js';
import { manySteps } from './usage-steps.js';

let server: RedisServer;
let runs = 0;

beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('on Redis, too, no interleaving of requests, updates, clock steps, settlements, restarts and kills exceeds a limit or loses a reservation', async () => {
  await fc.assert(
    fc.asyncProperty(manySteps, async (steps) => checkAgainstModel(steps, await aSubject())),
    { numRuns: 60 },
  );
}, 120_000);

/** `restart` replaces the replica, `crash` kills redis-server with -9 besides. */
async function aSubject(): Promise<Subject> {
  const clock = aClock();
  const options = { keyPrefix: `run-${(runs += 1)}:`, clock, epochMirror: createMemoryEpochMirror() };
  let store = await openStore(server.url, options);
  const restart = async () => {
    await store.stop();
    store = await openStore(server.url, options);
    return store;
  };
  return {
    store,
    clock,
    restart,
    crash: async () => {
      await server.kill();
      await server.start();
      return restart();
    },
    stop: () => store.stop(),
  };
}
