import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseNumberText, ratioUp, scaleUp, type Decimal } from '../../../core/pricing/decimal.js';
import type { PriceAnswer } from '../../../core/pricing/price-source.js';
import { maxRate, computePrice, type Quoted } from '../../../core/pricing/rate.js';
import type { EpochMs } from '../../../core/units/time.js';

const at = 1_700_000_000_000 as EpochMs;
const dollars = (cents: bigint): Decimal => ({ value: cents, decimals: 2 });
const rateOf = (quoted: Quoted, decimals: number): PriceAnswer =>
  computePrice({ source: 'test', quoted, observedAt: at }, decimals);
const rate = (answer: PriceAnswer): bigint | string =>
  answer.ok ? answer.price.rate : answer.refusal.reason;

describe('the rate of a token', () => {
  test('from two feeds is their quotient in token base units, rounded up', () => {
    const native = { value: 312_345_000_000n, decimals: 8 };
    const token = { value: 99_980_000n, decimals: 8 };
    // 3123.45 / 0.9998 = 3124.07481496…
    expect(rate(rateOf({ native, token }, 6))).toBe(3_124_074_815n);
  });

  test.each([
    {
      name: 'tokens per native coin',
      quoted: { native: dollars(300_025n) },
      places: 6,
      want: 3_000_250_000n,
    },
    {
      name: 'fewer decimals than the source',
      quoted: { native: dollars(300_025n) },
      places: 0,
      want: 3_001n,
    },
    {
      name: 'native coins per token',
      quoted: { inverse: true, native: { value: 32n, decimals: 5 } },
      places: 6,
      want: 3_125_000_000n,
    },
    {
      name: 'an inverse that does not divide',
      quoted: { inverse: true, native: { value: 3n, decimals: 0 } },
      places: 6,
      want: 333_334n,
    },
    {
      name: 'a token worth more than the chain has',
      quoted: { inverse: true, native: { value: 10n ** 30n, decimals: 0 } },
      places: 0,
      want: 1n,
    },
  ] as const)('from $name', ({ quoted, places, want }) => {
    expect(rate(rateOf(quoted, places))).toBe(want);
  });

  const figure = fc.record({ value: fc.bigInt(1n, 10n ** 20n), decimals: fc.integer({ min: -4, max: 24 }) });
  const places = fc.integer({ min: 0, max: 24 });
  const power = (exponent: number) => 10n ** BigInt(exponent);

  test('is the smallest integer that is not below the exact quotient, whatever the decimals', () => {
    fc.assert(
      fc.property(figure, figure, places, (native, token, decimals) => {
        const found = ratioUp(native, token, decimals);
        // found >= native / token * 10^decimals > found - 1, multiplied out with 4 added to every exponent.
        const right = native.value * power(decimals + token.decimals + 8);
        const left = (value: bigint) => value * token.value * power(native.decimals + 8);
        expect(left(found)).toBeGreaterThanOrEqual(right);
        expect(left(found - 1n)).toBeLessThan(right);
      }),
    );
  });

  test('of a ratio does not depend on the currency', () => {
    fc.assert(
      fc.property(figure, figure, fc.bigInt(1n, 10n ** 12n), places, (native, token, currency, decimals) => {
        const other = ({ value, decimals: own }: Decimal): Decimal => ({
          value: value * currency,
          decimals: own + 3,
        });
        expect(ratioUp(other(native), other(token), decimals)).toBe(ratioUp(native, token, decimals));
      }),
    );
  });

  test.each([
    { name: 'zero', quoted: { native: dollars(0n) } },
    { name: 'a negative figure', quoted: { native: dollars(-1n) } },
    {
      name: 'a token that costs nothing',
      quoted: { native: dollars(1n), token: dollars(0n) },
    },
    {
      name: 'two negative figures, whose quotient is positive',
      quoted: { native: dollars(-1n), token: dollars(-1n) },
    },
    { name: 'an inverse of zero', quoted: { inverse: true, native: dollars(0n) } },
    {
      name: 'a huge rate',
      quoted: { native: { value: maxRate + 1n, decimals: 6 } },
    },
  ] as const)('is refused for $name', ({ quoted }) => {
    expect(rate(rateOf(quoted, 6))).toBe('OUT_OF_RANGE');
  });

  test('may be as large as contracts can multiply, and not one unit larger', () => {
    const direct = (value: bigint): Quoted => ({
      native: { value, decimals: 0 },
    });
    expect(rate(rateOf(direct(maxRate), 0))).toBe(maxRate);
    expect(rate(rateOf(direct(maxRate + 1n), 0))).toBe('OUT_OF_RANGE');
  });

  test('comes with dollars of 18 decimals where the source knows them', () => {
    const quoted: Quoted = { native: dollars(300_000n) };
    const answer = computePrice({ source: 'test', quoted, usd: dollars(300_025n), observedAt: at }, 6);
    expect(answer).toMatchObject({ price: { usdPerNative: 3_000_250_000_000_000_000_000n } });
    expect(computePrice({ source: 'test', quoted, usd: dollars(0n), observedAt: at }, 6)).toMatchObject({
      refusal: { reason: 'OUT_OF_RANGE' },
    });
  });
});

describe('the text of a number', () => {
  test.each([
    { text: '3123.45', value: 312_345n, decimals: 2 },
    { text: '0', value: 0n, decimals: 0 },
    { text: '-1.5', value: -15n, decimals: 1 },
    { text: '2.5e-7', value: 25n, decimals: 8 },
    { text: '1E+3', value: 1n, decimals: -3 },
    { text: '0.10', value: 10n, decimals: 2 },
    { text: '9007199254740993', value: 9_007_199_254_740_993n, decimals: 0 },
  ])('$text is read exactly', ({ text, value, decimals }) => {
    expect(parseNumberText(text)).toEqual({ value, decimals });
  });

  test.each([
    '',
    ' ',
    'abc',
    '0x10',
    '1_000',
    '1,5',
    '+1',
    '.5',
    '5.',
    'NaN',
    'Infinity',
    '1e',
    '1e999',
    `1${'0'.repeat(80)}`,
    '1'.repeat(100_000),
  ])('%p is not a rate', (text) => {
    expect(parseNumberText(text)).toBeUndefined();
  });

  test('scales up, never down', () => {
    expect(scaleUp({ value: 1n, decimals: 7 }, 6)).toBe(1n);
    expect(scaleUp({ value: 15n, decimals: -2 }, 1)).toBe(15_000n);
  });
});
