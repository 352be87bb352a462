import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { someNow } from '../../build/configs.js';
import { aClock } from '../../adapters/usage/clock.js';
import { openStore } from '../../adapters/usage/postgres-usage.js';
import { startPostgres, type PostgresServer } from '../../support/postgres.js';
import { runs } from '../../support/property.js';
import { recordRounds } from './recorded-world.js';
import { limitedPaymasters } from './paymasters.js';
import { expectSameVerdicts, someRounds } from './replayed.js';

// The order that the shared store gives to decisions of requests that run at the same time.

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.stop());

test('on PostgreSQL: under an unchanged configuration every verdict is the recorded one', async () => {
  const reasons = new Set<string>();
  await fc.assert(
    fc.asyncProperty(someRounds, async (rounds) => {
      const clock = aClock(someNow);
      const usage = await openStore(await postgres.createDatabase(), { clock });
      try {
        const recorded = await recordRounds(limitedPaymasters, rounds, { store: { usage, clock } });
        for (const reason of await expectSameVerdicts(recorded)) reasons.add(reason);
      } finally {
        await usage.stop();
      }
    }),
    { ...runs(10), endOnFailure: true },
  );
  expect([...reasons]).toEqual(expect.arrayContaining(['sponsored', 'LIMIT_REACHED']));
});
