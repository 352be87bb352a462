import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { rollupUnits, spansOf } from '../../../core/ledger/steps.js';
import { createUsageSums } from '../../../core/ledger/usage-sums.js';
import { noAmounts } from '../../../core/ledger/amounts.js';
import { usageSteps, type UsageQuery } from '../../../core/ledger/query.js';
import type { EpochMs } from '../../../core/units/time.js';
import { runs } from '../../support/property.js';

const minutes = fc.integer({ min: 29_000_000, max: 29_000_000 + 100 * 1440 });

test('the spans of a range cover it once, in whole units, with few minutes and hours', () => {
  fc.assert(
    fc.property(minutes, minutes, fc.constantFrom(...usageSteps), (a, b, step) => {
      const range = { from: (Math.min(a, b) * 60_000) as EpochMs, to: (Math.max(a, b) * 60_000) as EpochMs };
      const spans = spansOf(range, step);
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
      expect(count('minute')).toBeLessThan(120);
      if (step !== 'hour') expect(count('hour')).toBeLessThan(48);
    }),
    runs(300),
  );
});

test('sums of very many values keep only the first rows of the answer', () => {
  const query: UsageQuery = {
    organisation: 'acme',
    paymasterId: undefined,
    from: 0 as EpochMs,
    to: rollupUnits.day as EpochMs,
    step: 'day',
    groupBy: 'sender',
    senders: false,
    limit: 2,
  };
  const sums = createUsageSums(query);
  const names = [...Array(5000).keys()].map((index) => String((index * 7919) % 5000).padStart(4, '0'));
  for (const _ of [1, 2])
    for (const name of names) sums.add(0 as EpochMs, name, { ...noAmounts(), mined: 1 });
  expect(sums.rows().map(({ group, mined }) => [group, mined])).toEqual([
    ['0000', 2],
    ['0001', 2],
    ['0002', 2],
  ]);
});
