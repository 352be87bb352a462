import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseUnits } from 'viem';
import { quoteLifeSeconds, renderFeeQuote, roundUpToNumber } from '../../../core/pricing/fee-quote.js';
import { parseMarkup } from '../../../core/pricing/rate.js';
import type { EpochSeconds } from '../../../core/units/time.js';
import { aServedToken } from '../../build/prices.js';
import { divideUp } from '../../../core/units/wei.js';

const decimals = fc.integer({ min: 0, max: 24 });
/**
 * Small ones are as likely. From 10^21 on every float has an exponent, and the vendor's SDK cannot approve it; the two
 * steps of 15 digits below are rounded up to it.
 */
const largest = 10n ** 21n - 2n * 10n ** 6n;
const charge = fc
  .integer({ min: 1, max: 21 })
  .chain((digits) => fc.bigInt(1n, 10n ** BigInt(digits)))
  .map((amount) => (amount > largest ? largest : amount));
const validUntil = 1_700_000_120 as EpochSeconds;

describe('maxGasFee', () => {
  test('covers the charge in the arithmetic of the vendor SDK, of viem and of exact decimals', () => {
    fc.assert(
      fc.property(charge, decimals, (amount, places) => {
        const number = roundUpToNumber(amount, places);
        // As the SDK does: floats all the way, and then text.
        expect(BigInt(Math.ceil(number * 10 ** places))).toBeGreaterThanOrEqual(amount);
        // As viem does: the text of the number.
        expect(parseUnits(number.toString(), places)).toBeGreaterThanOrEqual(amount);
      }),
      { numRuns: 2_000 },
    );
  });

  test('is written without an exponent and asks for at most 10^-14 more, where the token has such small units', () => {
    fc.assert(
      fc.property(charge, decimals, (amount, places) => {
        const number = roundUpToNumber(amount, places);
        expect(number.toString()).not.toMatch(/e/);
        const least = places > 6 ? 10n ** BigInt(places - 6) : 1n;
        const asked = parseUnits(number.toString(), places);
        const larger = amount > least ? amount : least;
        expect(asked - larger).toBeLessThanOrEqual(larger / 10n ** 14n + 1n);
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([
    { name: 'a fraction stays as it is', amount: 252_600n, places: 6, want: 0.2526 },
    { name: 'whole tokens stay whole', amount: 7n, places: 0, want: 7 },
    { name: 'nothing stays nothing', amount: 0n, places: 18, want: 0 },
    { name: 'the least that has no exponent', amount: 1n, places: 18, want: 0.000001 },
    { name: 'the least unit of a dollar', amount: 1n, places: 6, want: 0.000001 },
    { name: 'fifteen digits are kept', amount: 123_456_789_012_345n, places: 6, want: 123456789.012345 },
    {
      name: 'the sixteenth is rounded up',
      amount: 1_234_567_890_123_451n,
      places: 6,
      want: 1234567890.12346,
    },
    { name: 'floats that would fall short are raised', amount: 29n, places: 2, want: 0.29 },
  ])('$name', ({ amount, places, want }) => {
    expect(roundUpToNumber(amount, places)).toBe(want);
  });
});

describe('a fee quote', () => {
  test('is the documented record', () => {
    const token = aServedToken({
      decimals: 6,
      premiumPercentage: '13',
      logoUrl: 'https://logos.example.com/usdc.png',
    });
    const quote = renderFeeQuote({
      token,
      price: { rate: 3_000_000_000n },
      maxCharge: 1_130_000n,
      usdPerNative: 3_000n * 10n ** 18n,
      validUntil,
    });
    expect(quote).toEqual({
      symbol: 'USDC',
      decimal: 6,
      tokenAddress: token.address,
      maxGasFee: 1.13,
      maxGasFeeUSD: 1.13,
      exchangeRate: 3_000_000_000,
      premiumPercentage: '13',
      validUntil,
      logoUrl: 'https://logos.example.com/usdc.png',
    });
  });

  test('without dollars, premium and logo leaves out only what nobody knows', () => {
    const { logoUrl: _logoUrl, premiumPercentage: _premium, ...token } = aServedToken({});
    const quote = renderFeeQuote({
      token,
      price: { rate: 1n },
      maxCharge: 1n,
      usdPerNative: undefined,
      validUntil,
    });
    expect(quote).not.toHaveProperty('maxGasFeeUSD');
    expect(quote).toMatchObject({ premiumPercentage: '0', logoUrl: '' });
  });

  test('never shows fewer dollars than the charge is worth', () => {
    const rate = fc.bigInt(1n, 10n ** 36n);
    const usd = fc.bigInt(1n, 10n ** 26n);
    fc.assert(
      fc.property(charge, rate, usd, decimals, (maxCharge, price, usdPerNative, places) => {
        const { maxGasFeeUSD = -1 } = renderFeeQuote({
          token: aServedToken({ decimals: places }),
          price: { rate: price },
          maxCharge,
          usdPerNative,
          validUntil,
        });
        // Compared as texts of exact decimals, so that the check itself does not round.
        const shown = parseUnits(
          maxGasFeeUSD.toLocaleString('en', { useGrouping: false, maximumFractionDigits: 20 }),
          18,
        );
        expect(shown * price).toBeGreaterThanOrEqual(maxCharge * usdPerNative);
      }),
    );
  });

  test('lives for two minutes', () => {
    expect(quoteLifeSeconds).toBe(120);
  });
});

describe('a premium', () => {
  const premium = fc.integer({ min: 0, max: 1_000_000 });

  test('is the exact markup of the contracts', () => {
    fc.assert(
      fc.property(premium, (tenThousandths) => {
        const text = `${Math.floor(tenThousandths / 10_000)}.${String(tenThousandths % 10_000).padStart(4, '0')}`;
        expect(parseMarkup(text)).toBe(1_000_000n + BigInt(tenThousandths));
      }),
    );
  });

  test.each([
    { text: '13', markup: 1_130_000n },
    { text: '7.5', markup: 1_075_000n },
    { text: '0.0001', markup: 1_000_001n },
    { text: '100', markup: 2_000_000n },
    { text: undefined, markup: 1_000_000n },
  ])('$text is a markup of $markup', ({ text, markup }) => {
    expect(parseMarkup(text)).toBe(markup);
  });

  test.each(['-1', '1e2', '13%', '', '0.00001'])('%j is not a premium', (text) => {
    expect(() => parseMarkup(text)).toThrow(RangeError);
  });

  test('divides upwards', () => {
    expect([divideUp(0n, 3n), divideUp(1n, 3n), divideUp(3n, 3n), divideUp(4n, 3n)]).toEqual([
      0n,
      1n,
      1n,
      2n,
    ]);
  });
});
