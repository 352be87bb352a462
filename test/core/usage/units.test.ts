import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { thresholdProblem } from '../../../core/policy/spending-limit/threshold.js';
import { formatAmount, isFull, parseThreshold, unitNames, unitOf } from '../../../core/usage/units.js';

const most = BigInt(Number.MAX_SAFE_INTEGER);
const weis = fc.bigInt({ min: 0n, max: 10n ** 40n });

describe.each(unitNames)('%s', (unit) => {
  const row = unitOf(unit);
  const take = (wei: bigint) => row.take({ wei });

  test('takes a whole number that counters can hold, and no less for a higher cost', () => {
    fc.assert(
      fc.property(weis, weis, (a, b) => {
        const [low, high] = a < b ? [take(a), take(b)] : [take(b), take(a)];
        expect(Number.isSafeInteger(high.cost)).toBe(true);
        expect(low.cost).toBeLessThanOrEqual(high.cost);
      }),
    );
  });

  test('has spent at most what it took, all of it when the actual cost is unknown, and no less for a higher one', () => {
    fc.assert(
      fc.property(weis, fc.nat(), fc.nat(), (wei, a, b) => {
        const taken = take(wei);
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
  expect(unitOf('COUNT').spent({ cost: 1 }, 0)).toBe(1);
  expect(unitOf('NATIVE_ASSET').spent({ cost: 900 }, 41)).toBe(41);
  expect(unitOf('NATIVE_ASSET').spent({ cost: 900 }, 901)).toBe(900);
});
