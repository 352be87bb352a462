import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { combine, type CombineRules } from '../../../core/pricing/combine.js';
import {
  type PriceRefusal,
  formatRefusal,
  refused,
  requirePrice,
  type PriceAnswer,
} from '../../../core/pricing/price-source.js';
import { plusMs, type EpochMs } from '../../../core/units/time.js';
import { anAnswer, aServedToken } from '../../build/prices.js';

const now = 1_700_000_000_000 as EpochMs;
const answer = (rate: bigint, ageSeconds = 0, source = `source ${rate}`): PriceAnswer =>
  anAnswer({ rate, source, observedAt: plusMs(now, -1000 * ageSeconds) });
const outage = (source: string): PriceAnswer =>
  refused({ source, reason: 'UNREACHABLE', detail: 'did not answer' });
const stale: PriceAnswer = refused({ source: 'feed', reason: 'STALE', ageSeconds: 9, maxAgeSeconds: 5 });

type Case = {
  readonly name: string;
  readonly rules?: CombineRules;
  readonly answers: readonly PriceAnswer[];
  readonly want: object;
};

describe('several sources', () => {
  test.each<Case>([
    {
      name: 'the first one in order gives the price',
      answers: [answer(5n), answer(4n), answer(9n)],
      want: { price: { rate: 5n } },
    },
    {
      name: 'one that cannot be reached is passed over',
      answers: [outage('a'), answer(4n)],
      want: { price: { rate: 4n } },
    },
    { name: 'a stale one is passed over', answers: [stale, answer(4n)], want: { price: { rate: 4n } } },
    {
      name: 'the age limit of the whole passes over older prices',
      rules: { maxAgeSeconds: 60 },
      answers: [answer(5n, 60), answer(4n, 59)],
      want: { price: { rate: 4n, staleAt: now + 1000 } },
    },
    {
      name: 'those that agree are used',
      rules: { maxDeviationPercent: 1 },
      answers: [answer(10_000n), answer(10_100n)],
      want: { price: { rate: 10_000n } },
    },
    {
      name: 'those that are apart are all refused',
      rules: { maxDeviationPercent: 1 },
      answers: [answer(10_000n), answer(10_101n)],
      want: {
        refusal: {
          reason: 'DEVIATION',
          lowest: { rate: 10_000n },
          highest: { rate: 10_101n },
          maxDeviationPercent: 1,
        },
      },
    },
    {
      name: 'a third one decides nothing',
      rules: { maxDeviationPercent: 1 },
      answers: [answer(10_000n), answer(10_000n), answer(20_000n)],
      want: { refusal: { reason: 'DEVIATION' } },
    },
    {
      name: 'fractions of a percent count',
      rules: { maxDeviationPercent: 0.75 },
      answers: [answer(10_000n), answer(10_076n)],
      want: { refusal: { reason: 'DEVIATION' } },
    },
    {
      name: 'a deviation of zero asks for the same price',
      rules: { maxDeviationPercent: 0 },
      answers: [answer(7n), answer(7n)],
      want: { price: { rate: 7n } },
    },
    {
      name: 'one alone confirms nothing',
      rules: { maxDeviationPercent: 1 },
      answers: [answer(5n), stale],
      want: { refusal: { reason: 'TOO_FEW', usable: 1, needed: 2 } },
    },
    {
      name: 'one alone is enough where minSources says so',
      rules: { maxDeviationPercent: 1, minSources: 1 },
      answers: [answer(5n), outage('b')],
      want: { price: { rate: 5n } },
    },
    {
      name: 'an only source with a deviation is compared with nothing',
      rules: { maxDeviationPercent: 1 },
      answers: [answer(5n)],
      want: { price: { rate: 5n } },
    },
    {
      name: 'minSources counts without a deviation too',
      rules: { minSources: 2 },
      answers: [answer(5n), stale],
      want: { refusal: { reason: 'TOO_FEW' } },
    },
    {
      name: 'none at all is an outage when none can be reached',
      answers: [outage('a'), outage('b')],
      want: { refusal: { reason: 'UNREACHABLE' } },
    },
    {
      name: 'an only source speaks for itself',
      answers: [stale],
      want: { refusal: { reason: 'STALE', ageSeconds: 9 } },
    },
    {
      name: 'dollars come from the first that knows them',
      answers: [answer(5n), anAnswer({ rate: 6n, usdPerNative: 3n })],
      want: { price: { rate: 5n, usdPerNative: 3n } },
    },
  ])('$name', ({ rules = {}, answers, want }) => {
    expect(combine(rules, answers, now)).toMatchObject(want);
  });

  test('are refused exactly when the highest is above the lowest by more than the limit, in any order', () => {
    const rates = fc.array(fc.bigInt(1n, 10n ** 30n), { minLength: 2, maxLength: 8 });
    const hundredths = fc.integer({ min: 0, max: 10_000 });
    fc.assert(
      fc.property(rates, hundredths, (values, limit) => {
        const sorted = [...values].sort((a, b) => (a < b ? -1 : 1));
        const [lowest = 0n] = sorted;
        const highest = sorted.at(-1) ?? 0n;
        const isApart = highest * 10_000n > lowest * BigInt(10_000 + limit);
        const rules = { maxDeviationPercent: limit / 100 };
        expect(
          combine(
            rules,
            values.map((rate) => answer(rate)),
            now,
          ).ok,
        ).toBe(!isApart);
      }),
    );
  });
});

describe('a refused price', () => {
  const text = (rules: CombineRules, answers: readonly PriceAnswer[]) => {
    const found = combine(rules, answers, now);
    return found.ok ? '' : formatRefusal(found.refusal);
  };

  test('names the rates, their sources and the limit', () => {
    expect(text({ maxDeviationPercent: 1 }, [answer(10_000n), answer(10_101n)])).toBe(
      'combine: source 10000 says 10000 and source 10101 says 10101, more than 1 % apart',
    );
  });

  test('names the age and the limit', () => {
    expect(text({}, [stale])).toBe('feed is 9 s old, at most 5 s are accepted');
  });

  test('names every source that was missing', () => {
    expect(text({ minSources: 2 }, [stale, outage('http b')])).toBe(
      'combine has 0 usable sources and needs 2: feed is 9 s old, at most 5 s are accepted; http b did not answer',
    );
  });

  test('is an unsupported fee token for a caller that needs it', () => {
    expect(() => requirePrice(aServedToken({}), stale)).toThrow(
      expect.objectContaining({
        code: 'FEE_TOKEN_UNSUPPORTED',
        message: 'fee token USDC has no price now: its price is 9 s old, at most 5 s are accepted',
      }),
    );
    expect(requirePrice(aServedToken({}), answer(5n)).rate).toBe(5n);
  });

  test('names no place where a price comes from to a caller, whatever went wrong there', () => {
    const place = 'http prices.acme.internal:8443';
    const faults: readonly PriceRefusal[] = [
      { source: place, reason: 'STALE', ageSeconds: 9, maxAgeSeconds: 5 },
      { source: place, reason: 'JUMP', rate: 1n, least: 2n },
      { source: place, reason: 'DECIMALS_MISMATCH', declared: 6, found: 18 },
      { source: place, reason: 'SYMBOL_MISMATCH', declared: 'A', found: 'B' },
      { source: place, reason: 'UNREACHABLE', detail: `could not be read: eth_call failed at ${place}` },
      { source: place, reason: 'REVERTED', detail: place },
      { source: place, reason: 'MALFORMED', detail: place },
      { source: place, reason: 'OUT_OF_RANGE', detail: place },
      { source: place, reason: 'INCOMPLETE', detail: place },
      { source: place, reason: 'SEQUENCER_DOWN', detail: place },
      {
        source: place,
        reason: 'DEVIATION',
        lowest: { rate: 1n, source: place },
        highest: { rate: 2n, source: place },
        maxDeviationPercent: 1,
      },
    ];
    const all: readonly PriceRefusal[] = [
      ...faults,
      { source: place, reason: 'TOO_FEW', usable: 0, needed: 1, faults },
    ];
    for (const fault of all)
      expect(() => requirePrice(aServedToken({}), refused(fault))).toThrow(
        expect.objectContaining({ message: expect.not.stringMatching(/acme|8443|http/) }),
      );
  });
});
