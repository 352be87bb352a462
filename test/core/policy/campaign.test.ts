import { describe, expect, test } from '@jest/globals';
import { compilePaymaster } from '../../../core/config/compile.js';
import type { PaymasterPolicy } from '../../../core/resources/paymaster-policy.js';
import { aPaymaster, aPolicy } from '../../build/resources.js';
import { someNow, someSources } from '../../build/sources.js';

const compile = (...policies: readonly PaymasterPolicy[]) =>
  compilePaymaster(someSources({ policies, now: someNow })).config;
const campaign = 'winter';

describe('the campaign of a policy', () => {
  test('is served with it, and is known while the policy is paused', () => {
    expect(compile(aPolicy({ campaign }))).toMatchObject({ campaigns: [campaign], limits: [{ campaign }] });
    const paused = compile(aPolicy({ campaign, active: false }));
    expect(paused).toMatchObject({ campaigns: [campaign], limits: [] });
    expect(compile(aPolicy())).not.toHaveProperty('campaigns');
  });

  test('in Shadow makes no name a refusal', () => {
    const tried = compile(aPolicy({ campaign, enforcement: 'Shadow' }));
    expect(tried.limits).toMatchObject([{ campaign, shadow: true }]);
    expect(tried).not.toHaveProperty('campaigns');
  });

  test('bounds a permission, which an earlier release then does not see at all', () => {
    const permits = aPolicy({ policyType: 'WALLET_DEPLOYMENT', walletDeployment: {}, campaign });
    expect(compile(permits)).toMatchObject({ walletDeployment: false, deployments: [{ campaign }] });
  });

  test('of a policy that has become invalid stays as it was: a wrong edit takes it out of no campaign', () => {
    const window = { until: '2027-01-01T00:00:00Z' };
    const policy = aPolicy({ policyType: 'WINDOW', window, campaign });
    const previous = compile(policy);
    const edited = aPolicy({ policyType: 'WINDOW', window: {}, campaign: 'other' });
    const { config } = compilePaymaster(someSources({ policies: [edited], previous, now: someNow }));
    expect(config.windows).toEqual(previous.windows);
  });
});

test('withoutCampaign: Allow is served; nothing else is', () => {
  const served = (withoutCampaign: 'Allow' | 'Deny') =>
    compilePaymaster(someSources({ paymaster: aPaymaster({ withoutCampaign }) })).config.withoutCampaign;
  expect([served('Allow'), served('Deny')]).toEqual([true, undefined]);
});
