import { expect, test } from '@jest/globals';
import { campaign } from '../campaign.js';
import { campaignTimeoutMs, ruleSteps } from '../targets.js';
import { inFile, inMemory } from './rule-stores.js';
import { runRules } from './run.js';
import { manySteps } from './steps.js';

const often = [
  'signed',
  'LIMIT_REACHED',
  'BUDGET_REACHED',
  'COST_TOO_HIGH',
  'PRICE_STALE',
  'CAMPAIGN_REQUIRED',
  'would refuse',
  'settled',
  'released',
  'revived',
];
/** In runs that are long enough. */
const sometimes = ['BUDGET_SHARE_FULL', 'CAMPAIGN_NOT_ACTIVE', 'USAGE_LOST', 'forfeited', 'paid'];

test.each([
  { where: 'in memory', open: inMemory, least: ruleSteps.inMemory, also: sometimes },
  { where: 'in a file that is killed', open: inFile, least: ruleSteps.inFile, also: ['killed'] },
])(
  '$where: limits of every unit, cycle and scope, budgets and campaigns say what an independent oracle says',
  async ({ where, open, least, also }) => {
    const { steps, seen } = await campaign(`rules ${where}`, least, manySteps, (chosen) =>
      runRules(chosen, open),
    );
    expect(steps).toBeGreaterThanOrEqual(least);
    // The runs are meaningful: each of these has happened often.
    for (const name of often) expect([name, (seen.get(name) ?? 0) > steps / 200]).toEqual([name, true]);
    for (const name of also) expect([name, (seen.get(name) ?? 0) > steps / 2_000]).toEqual([name, true]);
  },
  campaignTimeoutMs,
);
