import { describe, expect, test } from '@jest/globals';
import { compilePaymaster } from '../../../core/config/compile.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import type { PaymasterPolicy } from '../../../core/resources/paymaster-policy.js';
import { compileLimits, limitShares } from '../../../core/policy/spending-limit/shares.js';
import { toAddressKey, zeroAddress } from '../../../core/units/address.js';
import { aLimitConfig } from '../../build/configs.js';
import { aPaymaster, aPolicy } from '../../build/resources.js';
import { someNow, someSources } from '../../build/sources.js';
import type { EpochMs } from '../../../core/units/time.js';

const addressKey = toAddressKey(zeroAddress);
const compile = (policy: PaymasterPolicy, previous?: PaymasterConfig, now: EpochMs = someNow) =>
  compilePaymaster(someSources({ policies: [policy], previous, now }));
const later = (someNow + 3 * 3_600_000) as EpochMs;
const shadow = { enforcement: 'Shadow' } as const;
const aWrongWindow = (enforcement: 'Enforce' | 'Shadow') =>
  aPolicy({ policyType: 'WINDOW', window: {}, enforcement });

describe('a policy in Shadow', () => {
  test('is served as such, and the cycle of a limit does not start anew, there or back', () => {
    const first = compile(aPolicy());
    const status = { cycle: first.policies[0]!.cycle! };
    const tried = compile(aPolicy({ ...shadow, status }), first.config, later);
    const back = compile(aPolicy({ status, enforcement: 'Enforce' }), tried.config, later);
    expect(tried.config.limits).toEqual([{ ...first.config.limits[0], shadow: true }]);
    expect(back.config.limits).toEqual(first.config.limits);
    expect(first.config.limits[0]?.startMs).toBe(someNow);
    expect([tried, back].map(({ policies }) => policies[0]?.cycle)).toEqual([status.cycle, status.cycle]);
    // Also where the status was lost.
    expect(compile(aPolicy(shadow), first.config, later).config.limits[0]?.startMs).toBe(someNow);
  });

  test('that has never been valid refuses nothing; enforced it refuses everything', () => {
    expect(compile(aWrongWindow('Shadow')).config.invalidPolicies).toEqual([]);
    expect(compile(aWrongWindow('Enforce')).config.invalidPolicies).toEqual(['Daily']);
  });

  test('that has become invalid keeps its last form, enforced as its spec says now', () => {
    const window = { until: '2027-01-01T00:00:00Z' };
    const valid = compile(aPolicy({ policyType: 'WINDOW', window, ...shadow })).config;
    expect(valid.windows).toMatchObject([{ shadow: true }]);
    expect(compile(aWrongWindow('Shadow'), valid).config.windows).toEqual(valid.windows);
    const enforced = compile(aWrongWindow('Enforce'), valid).config;
    expect(enforced.windows).toHaveLength(1);
    expect(enforced.windows?.[0]?.shadow).toBeUndefined();
    expect(compile(aWrongWindow('Shadow'), enforced).config.windows).toEqual(valid.windows);
  });
});

test('contractsEnforcement: Shadow says that anything is sponsored', () => {
  const { config, openSponsorship } = compilePaymaster(
    someSources({ paymaster: aPaymaster({ contractsEnforcement: 'Shadow', defaultContractAction: 'Deny' }) }),
  );
  expect(config.contractsInShadow).toBe(true);
  expect(openSponsorship).toMatchObject({ status: 'True', reason: 'ContractsInShadow' });
});

test('a limit in dollars that is in Shadow refuses nothing while the price is missing, and counts nothing', () => {
  const limit = aLimitConfig({ thresholdType: 'USD', threshold: '5' });
  const request = { sender: addressKey, cost: { wei: 10n ** 18n, usdPerNative: undefined }, now: someNow };
  expect(() => limitShares(compileLimits([limit]), request)).toThrow('price');
  expect(limitShares(compileLimits([{ ...limit, shadow: true }]), request)).toMatchObject([
    { cost: 0, enforce: false },
  ]);
});
