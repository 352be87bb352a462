import { describe, expect, test } from '@jest/globals';
import { spendingLimit } from '../../../core/policy/spending-limit/kind.js';
import type { CycleStatus, SpendingLimitSpec } from '../../../core/policy/spending-limit/schema.js';
import type { EpochMs } from '../../../core/units/time.js';
import { aLimit } from '../../build/resources.js';

const now = Date.parse('2026-02-01T00:00:00.000Z') as EpochMs;
const each = { scope: 'PAYMASTER', thresholdType: 'USD', perOperation: '0.5' } as const;
const both: SpendingLimitSpec = { ...aLimit, thresholdType: 'USD', perOperation: '0.5' };
const identity = { policyId: 'p1', name: 'Each' };

function compile(spec: SpendingLimitSpec, cycle?: CycleStatus, at = now) {
  return spendingLimit.compile(
    { ...identity, spec, cycle },
    { now: at, methods: new Map(), served: undefined, lastingCycle: undefined, keyGeneration: 1 },
  );
}

describe('a limit with perOperation', () => {
  test('alone is served without a cycle, and counts nothing', () => {
    const { config, cycle } = compile(each);
    expect(cycle).toBeUndefined();
    const part = spendingLimit.config.write([config]);
    expect(part).toEqual({
      limits: [],
      operationLimits: [{ ...identity, thresholdType: 'USD', perOperation: '0.5' }],
    });
    expect(spendingLimit.config.cycles(part)).toEqual([]);
    expect(spendingLimit.config.serve(part).limits).toEqual([]);
  });

  test('beside a threshold is served in both parts, with its campaign and enforcement, and read back as one', () => {
    const config = { ...compile(both).config, shadow: true as const, campaign: 'winter' };
    const part = spendingLimit.config.write([config]);
    expect(part.limits).toMatchObject([
      { policyId: 'p1', shadow: true, campaign: 'winter', threshold: '10' },
    ]);
    expect(part.limits[0]).not.toHaveProperty('perOperation');
    expect(part.operationLimits).toMatchObject([{ policyId: 'p1', shadow: true, campaign: 'winter' }]);
    expect(spendingLimit.config.read(part, { ...identity, wasProgrammed: true })).toEqual(config);
  });

  test('restarts no cycle when it is added, changed or removed, or when its threshold is taken away and given again', () => {
    const { cycle: first } = compile({ ...aLimit, thresholdType: 'USD' });
    const later = (now + 3_600_000) as EpochMs;
    const { cycle: added } = compile(both, first, later);
    const { cycle: changed } = compile({ ...both, perOperation: '1' }, added, later);
    const { cycle: alone } = compile(each, changed, later);
    const { cycle: again } = compile(both, alone, later);
    expect([added, changed, alone, again]).toEqual([first, first, first, first]);
  });
});

test.each<{ spec: SpendingLimitSpec; says: string }>([
  { spec: { scope: 'PAYMASTER', thresholdType: 'USD' }, says: 'must have threshold, perOperation, or both' },
  { spec: { ...each, never: {} }, says: 'must have no cycleDuration, calendar or never without threshold' },
  {
    spec: { ...each, thresholdType: 'COUNT' },
    says: 'perOperation must be left out when thresholdType is COUNT',
  },
  { spec: { ...each, perOperation: '0.1234567' }, says: 'perOperation must be an amount of US dollars' },
  { spec: { ...each, perOperation: '-1' }, says: 'perOperation must be an amount of US dollars' },
])('a spec is refused where a store did not check it: $says', ({ spec, says }) => {
  expect(spendingLimit.problem(spec)).toContain(says);
});

test('dollars need a price of the chain, and the coin does not', () => {
  expect(spendingLimit.lacks(each, {})).toContain('needs spec.nativePrice');
  expect(spendingLimit.lacks({ ...each, thresholdType: 'NATIVE_ASSET' }, {})).toBeUndefined();
});
