import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { runAdversary } from './run.js';
import { isSoak } from '../support/soak-seconds.js';
import { manySteps } from './steps.js';
import { openInMemory } from './stores.js';
import { defects } from './switches.js';
import { BrokenRule } from './broken-rule.js';

/** Number of steps within which the model must find a defect. */
const mostSteps = 10_000;

/** `make soak` takes all of them, `make test` one for each rule. */
const taken = isSoak
  ? defects
  : [...new Map(defects.toReversed().map((one) => [one.rules[0], one])).values()];

test.each(taken)('the model finds it when $name', async ({ rules, open = openInMemory, ...switches }) => {
  let steps = 0;
  let found: unknown;
  // The same steps in every run, so that the result never varies.
  await fc.check(
    fc.asyncProperty(manySteps, async (chosen) => {
      if (steps > mostSteps) return;
      steps += chosen.length;
      try {
        await runAdversary(chosen, open, switches);
      } catch (error) {
        found = error;
        throw error;
      }
    }),
    { seed: 20_261_122, numRuns: 200, endOnFailure: true },
  );
  expect(found).toBeInstanceOf(BrokenRule);
  expect(rules).toContain((found as BrokenRule).rule);
  expect(steps).toBeLessThanOrEqual(mostSteps);
});
