import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { takePercent } from '../../../core/units/wei.js';

test('a percentage of an amount is the quotient rounded down, up to the largest amount that a double holds', () => {
  const amounts = fc.oneof(
    fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
    fc.integer({ min: Number.MAX_SAFE_INTEGER - 1_000, max: Number.MAX_SAFE_INTEGER }),
    fc.integer({ min: 0, max: 1_000 }),
  );
  fc.assert(
    fc.property(amounts, fc.integer({ min: 0, max: 100 }), (amount, percent) => {
      expect(takePercent(amount, percent)).toBe(Number((BigInt(amount) * BigInt(percent)) / 100n));
    }),
    {
      examples: [
        [Number.MAX_SAFE_INTEGER, 99],
        [199, 50],
        [1, 99],
      ],
    },
  );
});
