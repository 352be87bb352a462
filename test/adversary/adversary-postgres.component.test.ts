import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import { campaign } from './campaign.js';
import { openOnPostgres } from './postgres-stores.js';
import { runAdversary } from './run.js';
import { manySteps } from './steps.js';
import { campaignTimeoutMs, modelSteps } from './targets.js';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.stop());

test.each([
  { name: 'one replica', count: 1 },
  { name: 'three replicas at once', count: 3 },
])(
  'on PostgreSQL, $name: no requests, mined operations, transfers or faults break a rule of money',
  async ({ name, count }) => {
    const { steps, seen } = await campaign(
      `on PostgreSQL, ${name}`,
      modelSteps.onPostgres,
      manySteps,
      (chosen) => runAdversary(chosen, openOnPostgres(server, count)),
    );
    expect(steps).toBeGreaterThanOrEqual(modelSteps.onPostgres);
    expect(seen.get('finalized after a kill')).toBeGreaterThan(0);
  },
  campaignTimeoutMs,
);
