import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createMemoryEpochMirror } from '../../../core/usage/epoch.js';
import { runs } from '../../support/property.js';
import { startRedis, type RedisServer } from '../../support/redis.js';
import { aClock } from './clock.js';
import { checkCommits, commitSteps } from './commit-steps.js';
import { openStore } from './redis-usage.js';

let server: RedisServer;
let subjects = 0;

beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('on three replicas, too, a finalize at the moment at which its commit ends never leaves a promise without a reservation', async () => {
  let signed = 0;
  await fc.assert(
    fc.asyncProperty(commitSteps, async (steps) => {
      const clock = aClock();
      const options = {
        keyPrefix: `commits-${(subjects += 1)}:`,
        clock,
        epochMirror: createMemoryEpochMirror(),
      };
      const stores = await Promise.all([1, 2, 3].map(() => openStore(server.url, options)));
      try {
        signed += (await checkCommits(steps, stores, clock)).signed;
      } finally {
        for (const store of stores) await store.stop();
      }
    }),
    runs(40),
  );
  expect(signed).toBeGreaterThan(20);
}, 300_000);
