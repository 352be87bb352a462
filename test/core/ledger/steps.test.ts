import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { rollupUnits, listSpans } from '../../../core/ledger/steps.js';
import { usageSteps } from '../../../core/ledger/query.js';
import type { EpochMs } from '../../../core/units/time.js';
import { runs } from '../../support/property.js';

const minutes = fc.integer({ min: 29_000_000, max: 29_000_000 + 100 * 1440 });

test('the spans of a range cover it once, in whole units, with few minutes and hours', () => {
  fc.assert(
    fc.property(minutes, minutes, fc.constantFrom(...usageSteps), (a, b, step) => {
      const range = { from: (Math.min(a, b) * 60_000) as EpochMs, to: (Math.max(a, b) * 60_000) as EpochMs };
      const spans = listSpans(range, step);
      let end = range.from;
      for (const { unit, from, to } of spans) {
        expect(from).toBe(end);
        expect(to).toBeGreaterThan(from);
        expect([from % rollupUnits[unit], to % rollupUnits[unit]]).toEqual([0, 0]);
        end = to;
      }
      expect(end).toBe(range.to);
      const count = (wanted: string) =>
        spans
          .filter(({ unit }) => unit === wanted)
          .reduce((sum, { unit, from, to }) => sum + (to - from) / rollupUnits[unit], 0);
      if (step !== 'minute') expect(count('minute')).toBeLessThan(120);
      if (step !== 'hour') expect(count('hour')).toBeLessThan(48);
    }),
    runs(300),
  );
});
