import { describe, expect, test } from '@jest/globals';
import type { EpochMs } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import { accountLosses, contractLosses, lossBars, lossCharges } from '../../../core/usage/token-losses.js';
import { contains } from '../../../core/usage/window.js';
import { chainId, contract, hourMs, sender, startMs } from '../../conformance/usage-requests.js';

const dayMs = 24 * hourMs;
const budget = gwei(100_000_000);
const of = { chainId, contract };

/** The bars that are closed at `now` by a loss at `at`. */
function barredBy(at: EpochMs, now: EpochMs, bars = lossBars(of, sender, { budget, canLose: true, now })) {
  const charged = lossCharges(of, sender, { loss: gwei(50), bars: true, at });
  return bars.filter(({ counter, most }) =>
    charged.some((charge) => charge.counter === counter && charge.amount > most),
  );
}

describe('an account whose operation was mined and paid no token', () => {
  test.each([0, 6, 12, 18, 24, 30, 36, 42])(
    'in hour %i is barred for a day at least and two at most, until the moment that it is told',
    (hour) => {
      const lostAt = (startMs + hour * hourMs) as EpochMs;
      const until = barredBy(lostAt, lostAt)[0]?.window.until ?? lostAt;
      expect(until - lostAt).toBeGreaterThanOrEqual(dayMs);
      expect(until - lostAt).toBeLessThanOrEqual(2 * dayMs);
      expect(barredBy(lostAt, (until - 1) as EpochMs)[0]?.window.until).toBe(until);
      expect(barredBy(lostAt, until)).toEqual([]);
    },
  );

  test('is barred by that contract, and not by one of the same address on another chain', () => {
    const elsewhere = lossBars({ chainId: chainId + 1, contract }, sender, {
      budget,
      canLose: true,
      now: startMs,
    });
    expect(barredBy(startMs, startMs)).not.toEqual([]);
    expect(barredBy(startMs, startMs, [...elsewhere])).toEqual([]);
  });
});

test('every bar of a request has a window that contains its time', () => {
  for (const hour of [0, 13, 25, 47, 49]) {
    const now = (startMs + hour * hourMs) as EpochMs;
    for (const { window } of lossBars(of, sender, { budget, canLose: true, now }))
      expect(contains(window, now)).toBe(true);
  }
});

test('a loss is charged to the day of the contract in which it was mined, until that day ends', () => {
  const at = (startMs + 30 * hourMs) as EpochMs;
  const charges = lossCharges(of, sender, { loss: gwei(7), bars: true, at });
  const { counter } = lossBars(of, sender, { budget, canLose: true, now: at }).at(-1)!;
  expect(charges.at(-1)).toEqual({
    counter,
    unit: 'NATIVE_ASSET',
    until: startMs + 2 * dayMs,
    amount: 7,
  });
});

test('a loss that may be a sponsorship is charged to the contract alone, and bars nobody', () => {
  const charges = lossCharges(of, sender, { loss: 7, bars: false, at: startMs });
  expect(charges.map(({ counter }) => counter)).toEqual([contractLosses(of, startMs).counter]);
});

test('where nothing can be lost, the losses of the contract bar nothing', () => {
  const bars = lossBars(of, sender, { budget, canLose: false, now: startMs });
  expect(bars.map(({ counter }) => counter)).toEqual(
    accountLosses(of, sender, startMs).map(({ counter }) => counter),
  );
});
