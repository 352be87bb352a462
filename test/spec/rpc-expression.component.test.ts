import { beforeEach, describe, expect, test } from '@jest/globals';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { entryPoints } from '../../core/entry-point/address.js';
import { entryPoint09 } from '../../core/entry-point/v09.js';
import { faulty, priced } from '../../core/pricing/price-source.js';
import { parseDecimal } from '../../core/units/wei.js';
import type { EpochMs } from '../../core/units/time.js';
import {
  addressOf,
  aPaymasterConfig,
  someChainId,
  someNow,
  someTarget,
  someToken,
  someVersions,
} from '../build/configs.js';
import { aPrice, aTokenProfile, usdx } from '../build/fee-tokens.js';
import {
  anOperation,
  anOperationWithoutLimits,
  execute,
  executeBatch,
  mintCall,
  sponsored,
} from '../build/operations.js';
import { until } from '../support/until.js';
import { useRpc } from '../support/use-rpc.js';

// A policy of type EXPRESSION, from the compiled config to the view of callers, owners and records.

const nativePrice = { chainlink: { nativeFeed: '0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419' } };
const chain = {
  nativePrice,
  profiles: someVersions
    .map(aTokenProfile)
    .map((profile) => (profile.version === 'hybrid-0.9' ? { ...profile, tokenLossBudget: '100' } : profile)),
  feeTokens: [usdx],
};
const host = useRpc({ chain });

type Expression = NonNullable<PaymasterConfig['expressions']>[number];
const anExpression = (text: string, over: Partial<Expression> = {}): Expression => ({
  policyId: 'e1',
  name: 'Rule',
  text,
  methods: ['mint(address to)'],
  ...over,
});
const bob = addressOf(0xb0b);
const toBob = `calls.all(c, c.method == "mint(address)" && c.args.to == "${bob}")`;
const toEve = { callData: execute(someTarget, mintCall(addressOf(0xe5e))) };
const inTokens = { mode: 'ERC20', tokenInfo: { feeTokenAddress: usdx.address } };
// EntryPoint 0.6: (call + 3 × verification + preVerification) × maxFeePerGas = 760,000 × 2 gwei.
const cost = '0.00152';
let nonce = 100;
const fresh = (over: object = {}) => anOperation({ nonce: (nonce += 1), ...over });

beforeEach(() => {
  host.world.price = () => priced({ ...aPrice(), usdPerNative: parseDecimal('3000', 18) });
});

const ask = async (method: string, operation: object, mode: object = sponsored) =>
  (
    await host.call(method, [operation, mode], {
      headers: method === 'pm_explainSponsorship' ? { authToken: someToken } : {},
    })
  ).body;
/** The reason of the refusal; undefined when data are signed. */
const reasonFor = async (over: object = {}, mode: object = sponsored) => {
  const { result, error } = await ask('pm_sponsorUserOperation', fresh(over), mode);
  expect(error !== undefined || (result?.['paymasterAndData'] === '0x') === 'reason' in result!).toBe(true);
  return error?.data.reason ?? result?.['reason'];
};

describe('an expression', () => {
  test('lets pass what it holds for, refuses the rest, and says which part of which call was false', async () => {
    await host.put({ expressions: [anExpression(toBob)] });
    expect(await reasonFor()).toBeUndefined();
    expect(await reasonFor(toEve)).toBe('EXPRESSION_REFUSED');
    const batch = [bob, addressOf(0xe5e)].map((to) => ({ target: someTarget, data: mintCall(to) }));
    const { result } = await ask('pm_explainSponsorship', fresh({ callData: executeBatch(batch) }));
    const why = `call 1: c.args.to == "${bob}" is false: it is ${addressOf(0xe5e).toLowerCase()}`;
    expect(result).toMatchObject({
      sponsored: false,
      reason: 'EXPRESSION_REFUSED',
      rules: [
        { policyType: 'CONTRACTS' },
        { policyType: 'EXPRESSION', policyId: 'e1', says: why, verdict: 'refuse' },
      ],
    });
    expect(result?.['steps']).toContainEqual(
      expect.objectContaining({ step: 'expressions', verdict: 'refuse', detail: `policy "Rule": ${why}` }),
    );
  });

  test('is shown as a step that passes, with what it says', async () => {
    await host.put({ expressions: [anExpression(toBob)] });
    const { result } = await ask('pm_explainSponsorship', fresh());
    expect(result).toMatchObject({
      sponsored: true,
      rules: [{ policyType: 'CONTRACTS' }, { says: 'holds', verdict: 'pass' }],
    });
    expect(result?.['steps']).toContainEqual({ step: 'expressions', verdict: 'pass' });
  });

  test('of several all have to hold, and the record names the one that does not', async () => {
    const other = anExpression('chain == 1', { policyId: 'e2', name: 'Elsewhere' });
    await host.put({ expressions: [anExpression(toBob), other] });
    expect(await reasonFor()).toBe('EXPRESSION_REFUSED');
    const range = {
      organisation: aPaymasterConfig().namespace,
      from: 0 as EpochMs,
      to: (someNow + 86_400_000) as EpochMs,
      limit: 50,
    };
    await until('the refusal is recorded', async () => {
      const { decisions } = await host.ledger.decisions(range);
      return decisions.some(({ decision: { policies } }) =>
        policies.some(({ policyId, effect }) => policyId === 'e2' && effect === 'refused'),
      );
    });
    expect((await host.metrics.render()).body).toContain(
      'paymaster_refusals_total{reason="EXPRESSION_REFUSED"} ',
    );
  });

  test('that is false refuses a stub too, before anything is simulated', async () => {
    await host.put({ expressions: [anExpression(toBob)] });
    const { body } = await host.call('pm_getPaymasterStubData', [
      fresh(toEve),
      '0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789',
      someChainId,
      {},
    ]);
    expect(body.error?.data.reason).toBe('EXPRESSION_REFUSED');
  });
});

describe('the cost', () => {
  const within = (text: string) => ({ expressions: [anExpression(text)] });

  test('is the most that the operation can cost, exactly', async () => {
    await host.put(within(`cost.native == amount("${cost}", 18)`));
    expect(await reasonFor()).toBeUndefined();
    expect(await reasonFor({ callGasLimit: '100001' })).toBe('EXPRESSION_REFUSED');
  });

  test('is known in dollars by the price of the chain', async () => {
    await host.put(within('cost.usd == amount("4.6056", 6)'));
    expect(await reasonFor()).toBeUndefined();
    host.world.price = () => priced({ ...aPrice(), usdPerNative: parseDecimal('3001', 18) });
    expect(await reasonFor()).toBe('EXPRESSION_REFUSED');
  });

  test('in dollars is not guessed at: without a price nothing is signed, and one may ask again', async () => {
    host.world.price = () => faulty('feed', 'UNREACHABLE', 'no answer');
    await host.put(within('cost.usd >= 0'));
    const { error } = await ask('pm_sponsorUserOperation', fresh());
    expect(error).toMatchObject({ code: -32003, data: { reason: 'PRICE_STALE' } });
    const { result } = await ask('pm_explainSponsorship', fresh());
    expect(result).toMatchObject({ sponsored: false, reason: 'PRICE_STALE' });
  });

  test('is that of the limits that are found, not of those that are missing', async () => {
    await host.put(within('cost.native <= amount("0.001", 18)'));
    const found = { callGasLimit: 900_000n, verificationGasLimit: 150_002n, preVerificationGas: 50_003n };
    host.world.estimate = () => Promise.resolve(found);
    const operation = anOperationWithoutLimits({ nonce: (nonce += 1) });
    const mode = { mode: 'SPONSORED', calculateGasLimits: true };
    expect((await ask('pm_sponsorUserOperation', operation, mode)).result).toMatchObject({
      paymasterAndData: '0x',
      reason: 'EXPRESSION_REFUSED',
    });
    const cheap = { callGasLimit: 20_000n, verificationGasLimit: 50_002n, preVerificationGas: 50_003n };
    host.world.estimate = () => Promise.resolve(cheap);
    expect((await ask('pm_sponsorUserOperation', operation, mode)).result).not.toHaveProperty('reason');
  });

  test('is judged again when a commit is finalized under a new rule', async () => {
    const version = 'hybrid-0.9';
    for (const context of [{}, { ...inTokens, token: usdx.address }]) {
      await host.put({ version });
      const operation = fresh();
      const get = async (fields: object, signingPhase: string) =>
        (
          await host.call('pm_getPaymasterData', [
            { ...operation, ...fields },
            entryPoint09.address,
            someChainId,
            { ...context, signingPhase },
          ])
        ).body;
      const committed = (await get({}, 'commit')).result ?? {};
      expect(committed).toHaveProperty('paymasterData');
      await host.put({
        version,
        expressions: [anExpression('cost.native == 0', { appliesTo: ['SPONSORED', 'ERC20'] })],
      });
      const { error } = await get({ ...committed, signature: '0x5157' }, 'finalize');
      expect(error?.data.reason).toBe('EXPRESSION_REFUSED');
    }
  });
});

describe('nobody gets around it', () => {
  const open: Partial<PaymasterConfig> = {
    contractsRegistered: false,
    contracts: [],
    defaultContractAction: 'Allow',
  };
  const noCoins = 'calls.all(c, c.value == 0)';

  test.each([
    { name: 'with call data that no known account executes', callData: `0xdeadbeef${'00'.repeat(64)}` },
    { name: 'with a batch of no calls', callData: executeBatch([]) },
    { name: 'with no call data', callData: '0x' },
    { name: 'with call data that are cut off', callData: execute().slice(0, -64) },
  ])('$name', async ({ callData }) => {
    await host.put({ ...open, expressions: [anExpression(noCoins)] });
    expect(await reasonFor()).toBeUndefined();
    expect(await reasonFor({ callData })).toBe('EXPRESSION_REFUSED');
  });

  test('allowNoCalls lets an operation without calls be judged, and never one that does not decode', async () => {
    await host.put({ ...open, expressions: [anExpression(noCoins, { allowNoCalls: true })] });
    expect(await reasonFor({ callData: executeBatch([]) })).toBeUndefined();
    expect(await reasonFor({ callData: `0xdeadbeef${'00'.repeat(64)}` })).toBe('EXPRESSION_REFUSED');
  });

  test('with 65 calls, of which it would read 64', async () => {
    await host.put({ expressions: [anExpression(noCoins)] });
    const calls = (count: number) =>
      executeBatch(Array.from({ length: count }, () => ({ target: someTarget, data: mintCall() })));
    expect(await reasonFor({ callData: calls(64) })).toBeUndefined();
    expect(await reasonFor({ callData: calls(65) })).toBe('EXPRESSION_REFUSED');
  });

  test('by work: all campaigns that one request asks about share what one may take', async () => {
    const sum = Array.from({ length: 9 }, () => 'c.value % (c.value + 1)').join(' + ');
    const callData = executeBatch(
      Array.from({ length: 10 }, () => ({ target: someTarget, data: mintCall() })),
    );
    const valid = async (...ids: readonly string[]) => {
      const params = [fresh({ callData }), entryPoints['0.6'], ids];
      const { body } = await host.call('pm_validateSponsorshipPolicies', params);
      return (body.result as unknown as readonly { readonly sponsorshipPolicyId: string }[]).map(
        ({ sponsorshipPolicyId }) => sponsorshipPolicyId,
      );
    };
    await host.put({ expressions: [anExpression(`calls.all(c, ${sum} >= 0)`)] });
    const ids = Array.from({ length: 20 }, (_, index) => `c-${index}`);
    expect(await valid('c-19')).toEqual(['c-19']);
    const passed = await valid(...ids);
    expect(passed.length).toBeGreaterThan(0);
    expect(passed.length).toBeLessThan(5);
  });

  test('by work: all of a paymaster share what one may take, so five hold the thread no longer than one', async () => {
    const sum = Array.from({ length: 9 }, () => 'c.value % (c.value + 1)').join(' + ');
    const heavy = (policyId: string, over: Partial<Expression> = {}) =>
      anExpression(`calls.all(c, ${sum} >= 0)`, { policyId, name: policyId, ...over });
    const callData = executeBatch(
      Array.from({ length: 10 }, () => ({ target: someTarget, data: mintCall() })),
    );
    await host.put({ expressions: [heavy('e1')] });
    expect(await reasonFor({ callData })).toBeUndefined();
    await host.put({ expressions: ['e1', 'e2', 'e3', 'e4', 'e5'].map((id) => heavy(id)) });
    expect(await reasonFor({ callData })).toBe('EXPRESSION_REFUSED');
    const { result } = await ask('pm_explainSponsorship', fresh({ callData }));
    expect(result?.['steps']).toContainEqual(
      expect.objectContaining({
        step: 'expressions',
        detail: expect.stringMatching(/policy "e[2-5]": error: .*together they may take 4096 steps/),
      }),
    );
    expect(await reasonFor()).toBeUndefined();
    // Those in Shadow have their own: they never make another one refuse.
    const inShadow = ['e1', 'e2', 'e3', 'e4'].map((id) => heavy(id, { shadow: true }));
    await host.put({ expressions: [...inShadow, heavy('e5')] });
    expect(await reasonFor({ callData })).toBeUndefined();
  });

  test('by paying in tokens, where it applies to that; by default it says nothing there', async () => {
    await host.put({ expressions: [anExpression(toBob)] });
    expect(await reasonFor(toEve, inTokens)).toBeUndefined();
    await host.put({ expressions: [anExpression(toBob, { appliesTo: ['ERC20'] })] });
    expect(await reasonFor(toEve, inTokens)).toBe('EXPRESSION_REFUSED');
    const { error } = await ask('pm_getFeeQuoteOrData', fresh(toEve), inTokens);
    expect(error?.data.reason).toBe('EXPRESSION_REFUSED');
    expect(await reasonFor({}, inTokens)).toBeUndefined();
    expect(await reasonFor(toEve)).toBeUndefined();
    await host.put({ expressions: [anExpression('cost.native < 5', { appliesTo: ['ERC20'] })] });
    expect(await reasonFor({}, inTokens)).toBe('EXPRESSION_REFUSED');
    // A quote promises nothing, and is given before the cost is known.
    expect((await ask('pm_getFeeQuoteOrData', fresh(), inTokens)).result).toHaveProperty('feeQuotes');
  });

  test('and nobody but its owner reads from a refusal what it says', async () => {
    await host.put({ expressions: [anExpression(toBob)] });
    const { result, error } = await ask('pm_sponsorUserOperation', fresh(toEve));
    expect(JSON.stringify([result, error])).not.toContain(bob.slice(2));
  });
});
