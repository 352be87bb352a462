import { expect, test } from '@jest/globals';
import { campaign } from '../campaign.js';
import { campaignTimeoutMs, ruleSteps } from '../targets.js';
import { inFile, inMemory } from './rule-stores.js';
import { runRules } from './run.js';
import { manySteps, type Step } from './steps.js';

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

test('a budget whose restart is taken back, long after it has come, goes on counting', async () => {
  const budget = (ms: number | undefined): Step => ({
    do: 'budget',
    organisation: 1,
    budget: 0,
    edit: { of: 'restartedAt', ms },
  });
  const ask = (nonce: number): Step => {
    const [paymaster, sender, operation, campaign] = [2, 0, 1, 0];
    return { do: 'ask', asks: [{ paymaster, sender, nonce, operation, campaign, expirySeconds: 60 }] };
  };
  const end: Step = { do: 'end', ends: [{ pick: 0, how: 'settled', used: 1_000 }] };
  const steps: readonly Step[] = [
    { do: 'begin', at: Date.parse('2026-03-08T04:40:00Z') },
    budget(2),
    ask(1),
    end,
    { do: 'pass', ms: 1_860_000 },
    ask(2),
    budget(undefined),
    ask(3),
  ];
  const { seen } = await runRules(steps, inMemory);
  expect(seen.get('signed')).toBe(3);
});
