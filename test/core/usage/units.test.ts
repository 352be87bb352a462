import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { thresholdProblem } from '../../../core/policy/spending-limit/threshold.js';
import { parseDecimal } from '../../../core/units/wei.js';
import { formatAmount, isFull, parseThreshold, unitNames, unitRow } from '../../../core/usage/units.js';

const most = BigInt(Number.MAX_SAFE_INTEGER);
const someUsd = 3_123_450_000_000_000_000_000n;
const prices = fc.bigInt({ min: 0n, max: 10n ** 30n });
const weis = fc.bigInt({ min: 0n, max: 10n ** 40n });

describe.each(unitNames)('%s', (unit) => {
  const row = unitRow(unit);
  const take = (wei: bigint, usdPerNative = someUsd) => row.take({ wei, usdPerNative })!;

  test('takes a whole number that counters can hold, and no less for a higher cost', () => {
    fc.assert(
      fc.property(weis, weis, prices, (a, b, usd) => {
        const [low, high] = a < b ? [take(a, usd), take(b, usd)] : [take(b, usd), take(a, usd)];
        expect(Number.isSafeInteger(high.cost)).toBe(true);
        expect(low.cost).toBeLessThanOrEqual(high.cost);
      }),
    );
  });

  test('has spent at most what it took, all of it when the actual cost is unknown, and no less for a higher one', () => {
    fc.assert(
      fc.property(weis, prices, fc.nat(), fc.nat(), (wei, usd, a, b) => {
        const taken = take(wei, usd);
        const [low, high] = [Math.min(a, b), Math.max(a, b)].map((cost) => row.spent(taken, cost));
        expect(high).toBeLessThanOrEqual(taken.cost);
        expect(low).toBeLessThanOrEqual(high!);
        expect(row.spent(taken, Infinity)).toBe(taken.cost);
      }),
    );
  });

  test('reads every threshold that it takes, rounded down, and shows it again', () => {
    const { whole, fraction } = row.digits;
    const digits = (max: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${max}}$`));
    const text = fc.tuple(digits(whole), fraction === 0 ? fc.constant('') : digits(fraction));
    fc.assert(
      fc.property(text, ([before, after]) => {
        const given = `${BigInt(before)}${after === '' ? '' : `.${after}`}`;
        expect(thresholdProblem(given, unit, 'threshold')).toBeUndefined();
        const read = BigInt(parseThreshold(unit, given));
        const exact = BigInt(`${BigInt(before)}${after.padEnd(18, '0')}`);
        const counted = exact / 10n ** BigInt(18 - row.decimals);
        expect(read).toBe(counted < most ? counted : most);
        const shown = formatAmount(unit, Number(read)).split(' ')[0]!;
        expect(BigInt(parseThreshold(unit, shown))).toBe(read);
      }),
    );
  });

  test.each([-1, 1])('takes no threshold of %i digits more than its row says, on either side', (more) => {
    const whole = '9'.repeat(row.digits.whole + more);
    const fraction = '9'.repeat(Math.max(0, row.digits.fraction + more));
    const problems = [whole, `0.${fraction}`].map((text) => thresholdProblem(text, unit, 'threshold'));
    if (more > 0) expect(problems).not.toContain(undefined);
    else expect(problems[0]).toBeUndefined();
    expect(thresholdProblem('-1', unit, 'threshold')).toBeDefined();
  });

  test('is full when nothing fits any longer', () => {
    expect(isFull(unit, 1_000, 1_000)).toBe(true);
    expect(isFull(unit, 980, 1_000)).toBe(false);
    expect(isFull(unit, 0, 0)).toBe(true);
  });
});

test('a counted operation stays counted whatever it cost, an amount settles to the actual cost', () => {
  expect(unitRow('COUNT').spent({ cost: 1 }, 0)).toBe(1);
  expect(unitRow('NATIVE_ASSET').spent({ cost: 900 }, 41)).toBe(41);
  expect(unitRow('NATIVE_ASSET').spent({ cost: 900 }, 901)).toBe(900);
});

describe('dollars', () => {
  const { take, spent } = unitRow('USD');
  const ether = 10n ** 18n;
  const gwei = 10n ** 9n;

  test.each([
    { name: 'a price and one percent', wei: ether, usd: '3000', cost: 3_030_000_000 },
    { name: 'the smallest part of a micro-dollar, rounded up', wei: 1n, usd: '3000', cost: 1 },
    { name: 'a coin that costs less than a micro-dollar', wei: ether, usd: '0.0000000001', cost: 1 },
    { name: 'more than can be counted', wei: 10n ** 40n, usd: '3000', cost: Number.MAX_SAFE_INTEGER },
    { name: 'nothing on a test chain whose coin costs 0', wei: ether, usd: '0', cost: 0 },
  ])('take $name', ({ wei, usd, cost }) => {
    expect(take({ wei, usdPerNative: parseDecimal(usd, 18) })).toMatchObject({ cost });
  });

  test('take nothing without a price, so that it is not guessed', () => {
    expect(take({ wei: ether, usdPerNative: undefined })).toBeUndefined();
  });

  test('never take less than the exact product, nor a micro-dollar more', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 24n }), prices, (wei, usdPerNative) => {
        const exact = wei * usdPerNative * 101n;
        const unit = 100n * 10n ** 30n;
        const { cost } = take({ wei, usdPerNative })!;
        if (cost === Number.MAX_SAFE_INTEGER) return;
        expect(BigInt(cost) * unit).toBeGreaterThanOrEqual(exact);
        expect(BigInt(cost) * unit).toBeLessThan(exact + unit);
      }),
    );
  });

  test('settle at the price of the promise, whatever the coin costs when it is mined', () => {
    const taken = take({ wei: ether, usdPerNative: 3000n * ether })!;
    expect(spent(taken, Number(ether / gwei / 2n))).toBe(1_515_000_000);
    expect(spent(taken, Number((2n * ether) / gwei))).toBe(taken.cost);
  });
});
