import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { runs } from '../../support/property.js';
import { isSoak } from '../../support/soak-seconds.js';
import { checkCommits, commitSteps } from './commit-steps.js';
import { aClock, aDirectory, createFaultyStore } from './sqlite-usage.js';

test('in any order of commits, finalizes, repeats and expiries every promise was committed, and only promises stay', async () => {
  const histories = isSoak ? 200 : 60;
  let signed = 0;
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(commitSteps, async (steps) => {
      const clock = aClock();
      const directory = aDirectory();
      const { store } = createFaultyStore(join(directory.path, 'usage.db'), clock);
      try {
        const seen = await checkCommits(steps, [store], clock);
        signed += seen.signed;
        refused += seen.refused;
      } finally {
        await store.stop();
        directory.remove();
      }
    }),
    runs(histories),
  );
  // Otherwise it would prove nothing.
  expect(Math.min(signed, refused)).toBeGreaterThan(histories / 2);
});
