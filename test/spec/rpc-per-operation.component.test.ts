import { beforeEach, describe, expect, test } from '@jest/globals';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { entryPoint09 } from '../../core/entry-point/v09.js';
import { faulty, priced } from '../../core/pricing/price-source.js';
import { parseDecimal } from '../../core/units/wei.js';
import { aLimitConfig, someChainId, someToken, someVersions } from '../build/configs.js';
import { aPrice, aTokenProfile, usdx } from '../build/fee-tokens.js';
import { anOperation, anOperationWithoutLimits, sponsored } from '../build/operations.js';
import { useRpc } from '../support/use-rpc.js';

// `perOperation` of a spending limit, from the compiled config to the view of callers and owners.

const nativePrice = { chainlink: { nativeFeed: '0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419' } };
const host = useRpc({
  chain: { nativePrice, profiles: someVersions.map(aTokenProfile), feeTokens: [usdx] },
});
// EntryPoint 0.6: (call + 3 × verification + preVerification) × maxFeePerGas = 760,000 × 2 gwei.
const cost = '0.00152';
// 0.00152 × 3000 × 1.01
const dollars = '4.6056';
type PerOperation = NonNullable<PaymasterConfig['operationLimits']>[number];
const atMost = (perOperation: string, over: Partial<PerOperation> = {}) => ({
  operationLimits: [
    { policyId: 'p1', name: 'Each', thresholdType: 'NATIVE_ASSET', perOperation, ...over } as const,
  ],
});
let nonce = 100;
const fresh = (over: object = {}) => anOperation({ nonce: (nonce += 1), ...over });
const priceAt = (usd: string) => () => priced({ ...aPrice(), usdPerNative: parseDecimal(usd, 18) });
const noPrice = () => faulty('feed', 'UNREACHABLE', 'no answer');

beforeEach(() => {
  host.world.price = priceAt('3000');
});

const ask = async (method: string, operation: object, mode: object = sponsored) =>
  (
    await host.call(method, [operation, mode], {
      headers: method === 'pm_explainSponsorship' ? { authToken: someToken } : {},
    })
  ).body;
const reasonFor = async (over: object = {}, mode: object = sponsored) => {
  const { result, error } = await ask('pm_sponsorUserOperation', fresh(over), mode);
  return error?.data.reason ?? result?.['reason'];
};

describe('a limit per operation', () => {
  test.each([
    { name: 'just as much as the operation may cost', most: cost, passes: true },
    { name: 'a gwei less', most: '0.001519999', passes: false },
    { name: 'a wei more, which a count in gwei cannot see', most: '0.001520000000000001', passes: true },
    { name: 'a wei less', most: '0.001519999999999999', passes: false },
    { name: 'zero', most: '0', passes: false },
  ])('of $name', async ({ most, passes }) => {
    await host.put(atMost(most));
    expect(await reasonFor()).toBe(passes ? undefined : 'COST_TOO_HIGH');
  });

  test('is compared with the cost rounded up to a gwei', async () => {
    await host.put(atMost(cost));
    // 760,000 wei more.
    expect(await reasonFor({ maxFeePerGas: 2_000_000_001 })).toBe('COST_TOO_HIGH');
    expect(await reasonFor({ callGasLimit: '100001' })).toBe('COST_TOO_HIGH');
  });

  test('in dollars follows the price, one percent more and rounded up', async () => {
    await host.put(atMost(dollars, { thresholdType: 'USD' }));
    expect(await reasonFor()).toBeUndefined();
    host.world.price = priceAt('3000.000001');
    expect(await reasonFor()).toBe('COST_TOO_HIGH');
    // A test chain whose coin is worth nothing.
    host.world.price = priceAt('0');
    expect(await reasonFor()).toBeUndefined();
  });

  test('in dollars is not guessed at without a price; one in the coin goes on', async () => {
    host.world.price = noPrice;
    await host.put(atMost('1000', { thresholdType: 'USD' }));
    const { error } = await ask('pm_sponsorUserOperation', fresh());
    expect(error).toMatchObject({ code: -32003, data: { reason: 'PRICE_STALE', retryable: true } });
    await host.put(atMost('1'));
    expect(await reasonFor()).toBeUndefined();
    await host.put(atMost('0', { thresholdType: 'USD', shadow: true }));
    expect(await reasonFor()).toBeUndefined();
  });

  test('beside a threshold holds as the threshold does, and nothing is counted by it', async () => {
    const threshold = { thresholdType: 'NATIVE_ASSET', threshold: '0.002' } as const;
    await host.put({ limits: [aLimitConfig({ policyId: 'p1', ...threshold })], ...atMost(cost) });
    expect(await reasonFor({ callGasLimit: '100001' })).toBe('COST_TOO_HIGH');
    expect(await reasonFor()).toBeUndefined();
    expect(await reasonFor()).toBe('LIMIT_REACHED');
  });

  test('is explained with the cost and its bound, and the refusal names the policy', async () => {
    await host.put(atMost('0.001'));
    const { result } = await ask('pm_explainSponsorship', fresh());
    const says = `the operation may cost ${cost} ether, and one may cost at most 0.001 ether`;
    expect(result).toMatchObject({
      sponsored: false,
      reason: 'COST_TOO_HIGH',
      rules: [{ policyType: 'CONTRACTS' }, { policyId: 'p1', says: `"Each": ${says}`, verdict: 'refuse' }],
    });
    expect(result?.['steps']).toContainEqual(
      expect.objectContaining({ step: 'costPerOperation', verdict: 'refuse', detail: `"Each": ${says}` }),
    );
    await host.put(atMost('1'));
    const { result: passed } = await ask('pm_explainSponsorship', fresh());
    expect(passed?.['steps']).toContainEqual({ step: 'costPerOperation', verdict: 'pass' });
  });

  test('is that of a campaign where it has one', async () => {
    await host.put({ campaigns: ['a', 'b'], ...atMost('0', { campaign: 'a' }) });
    expect(await reasonFor({}, { ...sponsored, sponsorshipPolicyId: 'a' })).toBe('COST_TOO_HIGH');
  });
});

describe('nobody gets around it', () => {
  test('by asking for a smaller operation: gas limits that are found are judged, not those that are missing', async () => {
    await host.put(atMost('0.001'));
    const operation = anOperationWithoutLimits({ nonce: (nonce += 1) });
    const mode = { mode: 'SPONSORED', calculateGasLimits: true };
    host.world.estimate = () =>
      Promise.resolve({
        callGasLimit: 900_000n,
        verificationGasLimit: 150_002n,
        preVerificationGas: 50_003n,
      });
    const { result } = await ask('pm_sponsorUserOperation', operation, mode);
    expect(result).toMatchObject({ paymasterAndData: '0x', reason: 'COST_TOO_HIGH' });
  });

  test('by a commit that was made under a wider limit', async () => {
    const version = 'hybrid-0.9';
    await host.put({ version, ...atMost('1') });
    const operation = fresh();
    const get = async (fields: object, signingPhase: string) =>
      (
        await host.call('pm_getPaymasterData', [
          { ...operation, ...fields },
          entryPoint09.address,
          someChainId,
          { signingPhase },
        ])
      ).body;
    const committed = (await get({}, 'commit')).result ?? {};
    expect(committed).toHaveProperty('paymasterData');
    await host.put({ version, ...atMost('0') });
    const { error } = await get({ ...committed, signature: '0x5157' }, 'finalize');
    expect(error?.data.reason).toBe('COST_TOO_HIGH');
  });

  test('in mode ERC20 the user pays, so it says nothing there, also without a price in dollars', async () => {
    await host.put(atMost('0', { thresholdType: 'USD' }));
    const inTokens = { mode: 'ERC20', tokenInfo: { feeTokenAddress: usdx.address } };
    expect(await reasonFor({}, inTokens)).toBeUndefined();
  });
});
