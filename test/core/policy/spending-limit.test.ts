import { describe, expect, test } from '@jest/globals';
import type { LimitConfig } from '../../../core/policy/spending-limit/schema.js';
import { compileLimits, limitShares } from '../../../core/policy/spending-limit/shares.js';
import { limitReached, usageLost } from '../../../core/policy/share-texts.js';
import type { EpochMs } from '../../../core/units/time.js';
import { hourMs, sender, startMs } from '../../conformance/usage-requests.js';

function aLimitConfig(change: Partial<LimitConfig> = {}): LimitConfig {
  return {
    policyId: 'policy-1',
    name: 'daily',
    scope: 'PAYMASTER',
    thresholdType: 'COUNT',
    threshold: '10',
    startMs,
    durationMs: hourMs,
    ...change,
  };
}

const taking = (wei: bigint, now: EpochMs) => ({ sender, cost: { wei, usdPerNative: undefined }, now });
const inSecondHour = (startMs + hourMs) as EpochMs;
const counterOf = (subject: string): string => `policy-1/${startMs}/1/${subject}`;

describe('the share of an operation', () => {
  test.each<{ name: string; limit: Partial<LimitConfig>; want: object }>([
    {
      name: 'of a count is one',
      limit: {},
      want: { cost: 1, threshold: 10, counter: counterOf(''), unit: 'COUNT' },
    },
    {
      name: 'of an amount is its maximum cost, rounded up to gwei',
      limit: { thresholdType: 'NATIVE_ASSET', threshold: '0.05' },
      want: { cost: 777, threshold: 50_000_000, unit: 'NATIVE_ASSET' },
    },
    {
      name: 'of a user limit is counted for the sender',
      limit: { scope: 'SMART_ACCOUNT' },
      want: { counter: counterOf(sender) },
    },
    {
      name: 'is held against a threshold rounded down to whole gwei',
      limit: { thresholdType: 'NATIVE_ASSET', threshold: '0.0000000019' },
      want: { threshold: 1 },
    },
    { name: 'is held against whole operations', limit: { threshold: '2.9' }, want: { threshold: 2 } },
    {
      name: 'is held against the largest number that can be counted when the threshold is beyond it',
      limit: { threshold: '99999999999999999999' },
      want: { threshold: Number.MAX_SAFE_INTEGER },
    },
  ])('$name', ({ limit, want }) => {
    const shares = limitShares(compileLimits([aLimitConfig(limit)]), taking(776_000_000_001n, inSecondHour));
    const window = expect.objectContaining({ from: startMs + hourMs, until: startMs + 2 * hourMs });
    expect(shares).toEqual([expect.objectContaining({ window, enforce: true, ...want })]);
  });

  test('is taken from every limit in its order', () => {
    const limits = compileLimits(['a', 'b', 'c'].map((policyId) => aLimitConfig({ policyId })));
    const counters = limitShares(limits, taking(1n, inSecondHour)).map(({ counter }) => counter);
    expect(counters.map((counter) => counter.split('/')[0])).toEqual(['a', 'b', 'c']);
  });

  test('of a threshold that is not a plain decimal text cannot be computed', () => {
    expect(() => compileLimits([aLimitConfig({ threshold: '1e3' })])).toThrow(RangeError);
  });
});

describe('the text of a refusal', () => {
  const resetsAt = (startMs + hourMs) as EpochMs;
  const shareOf = (limit: Partial<LimitConfig>) =>
    limitShares(compileLimits([aLimitConfig(limit)]), taking(3n * 10n ** 16n, startMs))[0]!;

  test.each<{ name: string; limit: Partial<LimitConfig>; used: number; detail: string }>([
    {
      name: 'names a count, what is used, and when it resets',
      limit: {},
      used: 10,
      detail:
        '"daily": 10 operations of 10 operations used, needs 1 operation; resets at 2026-01-01T01:00:00.000Z',
    },
    {
      name: 'shows amounts in ether',
      limit: { thresholdType: 'NATIVE_ASSET', threshold: '0.05' },
      used: 21_000_001,
      detail:
        '"daily": 0.021000001 ether of 0.05 ether used, needs 0.03 ether; resets at 2026-01-01T01:00:00.000Z',
    },
    {
      name: 'names the user of a user limit',
      limit: { scope: 'SMART_ACCOUNT', threshold: '1' },
      used: 1,
      detail: `"daily": 1 operation of 1 operation used for ${sender}, needs 1 operation; resets at 2026-01-01T01:00:00.000Z`,
    },
  ])('$name', ({ limit, used, detail }) => {
    const subject = limit.scope === 'SMART_ACCOUNT' ? sender : '';
    expect(limitReached(shareOf(limit), { name: 'daily', subject }, used)).toEqual({
      pass: false,
      reason: 'LIMIT_REACHED',
      detail,
    });
  });

  test('says that usage is unknown when it was lost', () => {
    expect(usageLost('daily', resetsAt)).toEqual({
      pass: false,
      reason: 'USAGE_LOST',
      detail: '"daily": usage of this cycle is unknown; resets at 2026-01-01T01:00:00.000Z',
    });
  });
});
