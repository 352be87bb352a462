import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sharedPostgres, type SharedPostgres } from '../../support/postgres.js';
import { campaign } from '../campaign.js';
import { campaignTimeoutMs, ruleSteps } from '../targets.js';
import { onPostgres } from './rule-stores.js';
import { runRules } from './run.js';
import { manySteps } from './steps.js';

let server: SharedPostgres;
beforeAll(async () => {
  server = await sharedPostgres();
});
afterAll(() => server.stop());

test(
  'on PostgreSQL, limits of every unit, cycle and scope, budgets and campaigns say what an independent oracle says',
  async () => {
    const { steps, seen } = await campaign('rules on PostgreSQL', ruleSteps.onPostgres, manySteps, (chosen) =>
      runRules(chosen, onPostgres(server)),
    );
    expect(steps).toBeGreaterThanOrEqual(ruleSteps.onPostgres);
    for (const name of ['signed', 'would refuse', 'settled'])
      expect([name, seen.has(name)]).toEqual([name, true]);
  },
  campaignTimeoutMs,
);
