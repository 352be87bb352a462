import { expect, test } from '@jest/globals';
import { campaign } from '../campaign.js';
import { campaignTimeoutMs, ruleSteps } from '../targets.js';
import { inFile, inMemory } from './rule-stores.js';
import { runRules } from './run.js';
import { manySteps, type EditStep, type LimitStep, type Step } from './steps.js';

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

test('what was assumed as used in one unit is not read as an amount of another', async () => {
  const one = { paymaster: 2, limit: 0 };
  const amount = (times: number) => ({ times, operation: 0, price: 0, more: 0 });
  const edit = (...edits: readonly EditStep[]): Step => ({ do: 'edit', ...one, edits, isNoted: true });
  const ask = (nonce: number): Step => {
    const [paymaster, sender, operation, campaign] = [2, 0, 0, 0];
    return { do: 'ask', asks: [{ paymaster, sender, nonce, operation, campaign, expirySeconds: 60 }] };
  };
  const written: LimitStep = {
    unit: 'COUNT',
    perSender: false,
    threshold: amount(6),
    perOperation: undefined,
    cycle: { kind: 'never', hours: 1 },
    isShadow: false,
    campaign: 0,
  };
  const steps: readonly Step[] = [
    { do: 'begin', at: Date.parse('2026-03-28T22:50:00Z') },
    { do: 'write', ...one, written },
    edit({ of: 'assumeUsed', amount: amount(3) }),
    ask(1),
    // Three operations would be three coins.
    edit({ of: 'unit', unit: 'NATIVE_ASSET' }),
    ask(2),
  ];
  const { seen } = await runRules(steps, inMemory);
  expect(seen.get('signed')).toBe(2);
});

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
