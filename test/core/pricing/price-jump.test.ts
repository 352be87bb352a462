import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { PriceBounds } from '../../../core/pricing/fee-token-spec.js';
import { inDollars } from '../../../core/pricing/native-price.js';
import { laterOf, minRate, refusedJump, type PriceReference } from '../../../core/pricing/price-jump.js';
import type { EpochMs } from '../../../core/units/time.js';

const hourMs = 3_600_000;
const start = Date.UTC(2026, 0, 1) as EpochMs;
const at = (hours: number) => (start + hours * hourMs) as EpochMs;
const last: PriceReference = { rate: 3_000n, acceptedAt: start };
const least = (hours: number, bounds: PriceBounds = {}, of: PriceReference | undefined = last) =>
  minRate(bounds, of, at(hours));

describe('the least price that is accepted', () => {
  test('is half of the last one, and half of that again for each of the first three whole hours', () => {
    expect([0, 0.99, 1, 2, 3, 4, 1_000].map((hours) => least(hours))).toEqual([
      1_500n,
      1_500n,
      750n,
      375n,
      188n,
      188n,
      188n,
    ]);
    // A clock that was set back gives nobody more.
    expect(least(-5)).toBe(1_500n);
  });

  test('follows maxFallPercent, and is never below the floor', () => {
    expect(least(0, { maxFallPercent: 10 })).toBe(2_700n);
    expect(least(1, { maxFallPercent: 10 })).toBe(2_430n);
    expect(least(0, { maxFallPercent: 100 })).toBe(0n);
    expect(least(9, { floor: '1000' })).toBe(1_000n);
    expect(minRate({ floor: '1000' }, undefined, start)).toBe(1_000n);
    expect(minRate({}, undefined, start)).toBe(0n);
  });

  test('does not count what was accepted before a person confirmed a fall, which nobody can do for the future', () => {
    const acceptedAt = new Date(at(1)).toISOString();
    expect(least(1, { acceptedAt })).toBe(0n);
    expect(least(0.5, { acceptedAt })).toBe(1_500n);
    expect(least(1, { acceptedAt, floor: '7' })).toBe(7n);
    // It counts for one price.
    expect(least(2, { acceptedAt }, { rate: 10n, acceptedAt: at(1) })).toBe(3n);
  });

  test('of a coin says dollars', () => {
    expect(inDollars({ static: { usdPerNative: '3000' }, floor: '100.5', maxFallPercent: 30 })).toMatchObject(
      {
        floor: '100500000000000000000',
        maxFallPercent: 30,
      },
    );
  });
});

test('of two references the later one counts, whichever the store has', () => {
  const [early, late] = [last, { rate: 5n, acceptedAt: at(1) }];
  expect([laterOf(early, late), laterOf(late, early)]).toEqual([late, late]);
  expect([laterOf(undefined, early), laterOf(early, undefined)]).toEqual([early, early]);
  expect(laterOf(undefined, undefined)).toBeUndefined();
});

test('whatever a source says, no accepted price is below the bound, and what is refused changes nothing', () => {
  const reading = fc.record({
    rate: fc.bigInt(0n, 10_000n),
    afterMs: fc.integer({ min: 0, max: 2 * hourMs }),
  });
  fc.assert(
    fc.property(
      fc.array(reading, { maxLength: 30 }),
      fc.integer({ min: 1, max: 99 }),
      (readings, percent) => {
        let known = last;
        let now = start as number;
        for (const { rate, afterMs } of readings) {
          now += afterMs;
          const bounds = { maxFallPercent: percent };
          const jump = refusedJump({ rate, source: 'http a' }, bounds, known, now as EpochMs);
          const hours = Math.min(3, Math.floor((now - known.acceptedAt) / hourMs));
          const isNear = Number(rate) >= Number(known.rate) * (1 - percent / 100) ** (1 + hours) - 1e-6;
          expect(jump === undefined).toBe(isNear);
          if (jump === undefined) known = { rate, acceptedAt: now as EpochMs };
          else expect(jump.refusal).toMatchObject({ reason: 'JUMP', rate });
        }
      },
    ),
  );
});

/** Closing prices of two days, about, as one step: the worst that a feed can make of a day. */
const days: readonly {
  readonly what: string;
  readonly from: number;
  readonly to: number;
  readonly hours: number;
}[] = [
  { what: 'ETH, 12 March 2020', from: 195, to: 112, hours: 0 },
  { what: 'ETH, 19 May 2021, at its lowest', from: 3_380, to: 1_950, hours: 0 },
  { what: 'SOL, 9 November 2022', from: 26, to: 14, hours: 0 },
  { what: 'FTT, 8 November 2022', from: 22.1, to: 5.5, hours: 2 },
  // Somebody has to say that it is real.
  { what: 'LUNA, 11 May 2022', from: 17.5, to: 1.07, hours: Infinity },
  // A feed that errs by its decimals.
  { what: 'ETH, at a hundred-millionth', from: 3_000, to: 0.000_03, hours: Infinity },
];

describe('a fall of one day in one step stops dollars', () => {
  test.each(days)('for $hours hours: $what', ({ from, to, hours }) => {
    const known = { rate: BigInt(Math.round(from * 1e9)), acceptedAt: start };
    const rate = BigInt(Math.round(to * 1e9));
    const read = Array.from({ length: 24 * 6 }, (_, index) => index / 6);
    const accepted = read.find(
      (hour) => refusedJump({ rate, source: 'a' }, {}, known, at(hour)) === undefined,
    );
    expect(accepted ?? Infinity).toBe(hours);
  });

  test('for no time where it came in readings every ten seconds: no market halves so fast', () => {
    let known = { rate: 17_500_000_000n, acceptedAt: start };
    // LUNA on its worst day, evenly.
    for (let index = 1; index <= 8_640; index += 1) {
      const now = (start + index * 10_000) as EpochMs;
      const rate = BigInt(Math.round(17.5e9 * (1.07 / 17.5) ** (index / 8_640)));
      expect(refusedJump({ rate, source: 'a' }, {}, known, now)).toBeUndefined();
      known = { rate, acceptedAt: now };
    }
  });

  test('for no time where a token loses its peg: it then takes more of them to pay', () => {
    const known = { rate: 3_000_000_000n, acceptedAt: start };
    for (const dollars of [0.88, 0.3, 0.01]) {
      const rate = BigInt(Math.round(3e9 / dollars));
      expect(refusedJump({ rate, source: 'a' }, {}, known, start)).toBeUndefined();
    }
    // A token that is said to be worth three times as much would pay for three times the gas.
    expect(refusedJump({ rate: 1_000_000_000n, source: 'a' }, {}, known, start)).toBeDefined();
  });
});
