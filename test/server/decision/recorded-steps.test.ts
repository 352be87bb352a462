import { describe, expect, test } from '@jest/globals';
import { refusals, type RefusalReason } from '../../../core/refusal.js';
import { tokenMode } from '../../../server/decision/token/in-tokens.js';
import { recordedSteps, shownSteps, stepNames } from '../../../server/decision/show/recorded-steps.js';
import { sponsoredMode } from '../../../server/decision/steps/sponsored.js';

const asked = {
  mode: 'SPONSORED',
  method: 'pm_sponsorUserOperation',
  verdict: 'refused',
  reason: undefined,
  detail: 'why',
  maxCostWei: undefined,
} as const;
const of = (change: Partial<Parameters<typeof recordedSteps>[0]>) =>
  recordedSteps({ ...asked, ...change }).map(({ step, verdict }) => `${step} ${verdict}`);

describe('the steps of a recorded decision', () => {
  test('are those of its mode, in the order of an explanation', () => {
    // Naming the steps uses no dependency.
    const nothing = {} as never;
    const orders = { SPONSORED: sponsoredMode(nothing).steps, ERC20: tokenMode(nothing).steps };
    for (const mode of ['SPONSORED', 'ERC20'] as const) {
      const late = orders[mode]
        .filter(({ isEarly, isShadow }) => !isEarly && !isShadow)
        .map(({ name }) => name);
      expect(stepNames[mode]).toEqual(late);
    }
  });

  test('all passed where it was signed', () => {
    for (const mode of ['SPONSORED', 'ERC20'] as const)
      expect(of({ mode, verdict: 'sponsored' })).toEqual(stepNames[mode].map((step) => `${step} pass`));
  });

  test('end with the one that refused: those after it are undecided', () => {
    expect(of({ reason: 'GAS_LIMIT_TOO_HIGH' }).slice(-6)).toEqual([
      'tip pass',
      'gas refuse',
      'costPerOperation undecided',
      'expressions undecided',
      'webhooks undecided',
      'limitsAndDeposit undecided',
    ]);
    expect(of({ reason: 'SUSPENDED' })[0]).toBe('suspended refuse');
  });

  test('tell a limit that was full at the first look from one that was full when everything had passed', () => {
    expect(of({ reason: 'LIMIT_REACHED' }).slice(-6)).toEqual([
      'tip pass',
      'limitsAndDeposit refuse',
      'gas undecided',
      'costPerOperation undecided',
      'expressions undecided',
      'webhooks undecided',
    ]);
    expect(of({ reason: 'LIMIT_REACHED', maxCostWei: 7n }).slice(-5)).toEqual([
      'gas pass',
      'costPerOperation pass',
      'expressions pass',
      'webhooks pass',
      'limitsAndDeposit refuse',
    ]);
    expect(of({ mode: 'ERC20', reason: 'NOT_FUNDED', maxCostWei: 7n }).slice(-2)).toEqual([
      'payment pass',
      'lossesAndDeposit refuse',
    ]);
  });

  test('do not say that what lies between the two looks of a policy has passed', () => {
    for (const mode of ['SPONSORED', 'ERC20'] as const) {
      const steps = of({ mode, reason: 'EXPRESSION_REFUSED' });
      expect(steps).toContain('window pass');
      const after = steps.slice(steps.indexOf('expressions refuse') + 1);
      expect(after).toContain('gas undecided');
      expect(after.filter((step) => !step.endsWith(' undecided'))).toEqual([]);
    }
  });

  test('of a stub do not say that parts were checked that it does not have', () => {
    const steps = of({ method: 'pm_getPaymasterStubData', reason: 'FEE_TOO_HIGH' });
    expect(steps).toContain('authorization undecided');
    expect(steps).toContain('delegate pass');
  });

  test('name one that refused for every reason, with what would make it pass', () => {
    for (const reason of Object.keys(refusals) as RefusalReason[])
      for (const mode of ['SPONSORED', 'ERC20'] as const) {
        const steps = recordedSteps({ ...asked, mode, reason });
        expect(steps.filter(({ verdict }) => verdict === 'refuse')).toEqual([
          expect.objectContaining({ reason, detail: 'why' }),
        ]);
        expect(new Set(steps.map(({ step }) => step)).size).toBe(steps.length);
        for (const { step } of steps) expect(shownSteps).toContain(step);
      }
  });

  test('are not known where the mode is not', () => {
    expect(of({ mode: undefined, reason: 'SUSPENDED' })).toEqual([]);
  });
});
