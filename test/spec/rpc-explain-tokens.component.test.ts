import { beforeEach, describe, expect, test } from '@jest/globals';
import { DomainError } from '../../core/errors.js';
import { refused, priced } from '../../core/pricing/price-source.js';
import { pass, refuse } from '../../core/refusal.js';
import { toAddressKey, zeroAddress, type AddressKey } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import { addressOf, someChainId, someToken } from '../build/configs.js';
import { aPrice, aTokenChain, aTokenProfile, eurx, oldx, usdx } from '../build/fee-tokens.js';
import { anOperation, anOperationWithoutLimits } from '../build/operations.js';
import { startRpc, type RpcAnswer, type RpcHost } from '../build/rpc.js';
import { settle } from '../build/unpaid.js';
import { useRpc } from '../support/use-rpc.js';

// Mode ERC20 of pm_explainSponsorship: the same decisions as a payment, none of its effects.

const inUsdx = { tokenInfo: { feeTokenAddress: usdx.address } };
const contract = toAddressKey(aTokenProfile('1.1.0').token ?? zeroAddress);
const stale = refused({ source: 'chainlink 0xfeed', reason: 'STALE', ageSeconds: 4000, maxAgeSeconds: 3600 });

const host = useRpc({ chain: aTokenChain() });
beforeEach(async () => {
  await host.put();
  reset(host);
});

function reset({ world }: RpcHost): void {
  world.price = () => priced(aPrice());
  world.payment = () => Promise.resolve(pass);
  world.estimate = () =>
    Promise.resolve({ callGasLimit: 90_000n, verificationGasLimit: 200_000n, preVerificationGas: 50_000n });
}

function ask(method: string, operation: object, mode: object = inUsdx, at = host): Promise<RpcAnswer> {
  return at.call(method, [operation, { mode: 'ERC20', ...mode }], { headers: { authToken: someToken } });
}
const explain = (operation: object = anOperation(), mode: object = inUsdx, at = host) =>
  ask('pm_explainSponsorship', operation, mode, at);

type Step = { readonly step: string; readonly verdict: string; readonly reason?: string };
const stepsOf = ({ body }: RpcAnswer) => body.result?.['steps'] as readonly Step[];

test('an operation that would be signed passes every step, from the price to the quote', async () => {
  const explained = await explain();
  expect(explained.body.result).toMatchObject({
    mode: 'ERC20',
    sponsored: true,
    paymaster: { layout: 'vendor-1.1.0', contract: aTokenProfile('1.1.0').token },
    gas: { estimated: false, callGasLimit: '100000' },
    fee: { symbol: 'USDX', exchangeRate: '3000000000', premiumPercentage: '10' },
    losses: [
      { of: 'account', lost: '0', budget: '0.000000001' },
      { of: 'account', lost: '0', budget: '0.000000001' },
      { of: 'contract', lost: '0', budget: '0.1' },
    ],
    secured: false,
    bounds: [
      { of: 'live operations of the paymaster', unit: 'operations', taken: 0, most: 500_000, needed: 1 },
      { of: "organisation's share of the deposit", unit: 'ether', taken: '0', most: '25' },
      { of: 'unsecured token payments and losses of the contract', taken: '0', most: '0.1' },
      { of: 'unsecured token payments of the organisation', taken: '0', most: '0.025' },
      { of: 'unsecured token payments of the paymaster', taken: '0', most: '0.0125' },
      { of: 'unsecured token payments of the account', taken: '0', most: '0.01' },
    ],
  });
  expect(explained.body.result?.['reason']).toBeUndefined();
  expect(stepsOf(explained).map(({ step, verdict }) => `${step} ${verdict}`)).toEqual([
    'suspended pass',
    'factory pass',
    'delegate pass',
    'authorization pass',
    'fees pass',
    'token pass',
    'price pass',
    'gas pass',
    'charge pass',
    'lossesAndDeposit pass',
    'payment pass',
  ]);
  expect(explained.body.result?.['deposits']).toHaveLength(2);
});

test('the fee is the one that is quoted, and covers what the contract can take', async () => {
  const { body } = await explain();
  const quoted = await ask('pm_getFeeQuoteOrData', anOperation(), {
    tokenInfo: { preferredToken: usdx.address },
  });
  const [quote] = (quoted.body.result?.['feeQuotes'] ?? []) as readonly {
    maxGasFee: number;
    maxGasFeeUSD: number;
  }[];
  const fee = body.result?.['fee'] as { maxGasFee: number; maxGasFeeUSD: number; maxCharge: string };
  expect(fee.maxGasFee).toBe(quote?.maxGasFee);
  expect(fee.maxGasFeeUSD).toBe(quote?.maxGasFeeUSD);
  expect(Number(fee.maxCharge)).toBeGreaterThan(0);
  expect(Number(fee.maxCharge)).toBeLessThan(fee.maxGasFee);
});

test('the tokens of the choice are shown with source and age of their prices, or why they have none', async () => {
  const observedAt = (host.clock.now() - 90_000) as EpochMs;
  host.world.price = ({ address }) =>
    address === oldx.address ? stale : priced(aPrice({ observedAt, source: 'http prices.example' }));
  const tokenInfo = {
    feeTokenAddress: usdx.address,
    preferredToken: eurx.address,
    tokenList: [oldx.address, addressOf(1)],
  };
  const { body } = await explain(anOperation(), { tokenInfo });
  expect(body.result?.['tokens']).toMatchObject([
    {
      symbol: 'EURX',
      decimals: 18,
      premiumPercentage: '0',
      price: { source: 'http prices.example', exchangeRate: '3000000000', ageSeconds: 90 },
    },
    {
      symbol: 'OLDX',
      refusal: {
        reason: 'STALE',
        detail: 'chainlink 0xfeed is 4000 s old, at most 3600 s are accepted',
      },
    },
    { address: addressOf(1), refusal: { reason: 'FEE_TOKEN_UNSUPPORTED' } },
  ]);
  const all = await explain();
  expect(all.body.result?.['tokens']).toHaveLength(3);
});

describe('every refusal is named, with the reason that a payment is refused for', () => {
  test.each<{
    name: string;
    step: string;
    reason: string;
    operation?: object;
    mode?: object;
    setUp?: () => unknown;
  }>([
    {
      name: 'a suspended paymaster',
      step: 'suspended',
      reason: 'SUSPENDED',
      setUp: () => host.put({ suspended: true }),
    },
    {
      name: 'a fee above its cap',
      step: 'fees',
      reason: 'FEE_TOO_HIGH',
      operation: anOperation({ maxFeePerGas: 51_000_000_000 }),
    },
    {
      name: 'a delegate that is not on the list',
      step: 'delegate',
      reason: 'DELEGATE_NOT_ALLOWED',
      operation: delegated(),
      setUp: () => host.put({ version: 'singleton-0.8' }),
    },
    { name: 'no token', step: 'token', reason: 'FEE_TOKEN_REQUIRED', mode: { tokenInfo: {} } },
    {
      name: 'a token that is not served',
      step: 'token',
      reason: 'FEE_TOKEN_UNSUPPORTED',
      mode: { tokenInfo: { feeTokenAddress: addressOf(1) } },
    },
    {
      name: 'a stale price',
      step: 'price',
      reason: 'FEE_TOKEN_UNSUPPORTED',
      setUp: () => (host.world.price = () => stale),
    },
    {
      name: 'a gas limit above its cap',
      step: 'gas',
      reason: 'GAS_LIMIT_TOO_HIGH',
      operation: anOperation({ callGasLimit: 10_000_001 }),
    },
    {
      name: 'a gas limit below what the contract needs',
      step: 'gas',
      reason: 'GAS_LIMIT_TOO_LOW',
      operation: anOperation({ verificationGasLimit: 1_000 }),
    },
    {
      name: 'a call that reverts',
      step: 'gas',
      reason: 'EXECUTION_REVERTS',
      operation: anOperationWithoutLimits(),
      setUp: () =>
        (host.world.estimate = () =>
          Promise.resolve({
            callGasLimit: 90_000n,
            verificationGasLimit: 200_000n,
            preVerificationGas: 50_000n,
            reverted: 'out of stock',
          })),
    },
    {
      name: 'a rate at which the contract cannot count',
      step: 'charge',
      reason: 'FEE_TOKEN_UNSUPPORTED',
      setUp: () => (host.world.price = () => priced(aPrice({ rate: 2n ** 250n }))),
    },
    ...(['TOKEN_BALANCE', 'TOKEN_ALLOWANCE', 'TOKEN_PAYMENT_FAILS'] as const).map((reason) => ({
      name: `a simulated payment with ${reason}`,
      step: 'payment',
      reason,
      setUp: () => (host.world.payment = () => Promise.resolve(refuse(reason, 'as simulated'))),
    })),
  ])('$name', async ({ step, reason, operation = anOperation(), mode = inUsdx, setUp }) => {
    await setUp?.();
    const explained = await explain(operation, mode);
    expect(explained.body.result).toMatchObject({ sponsored: false, reason });
    const found = stepsOf(explained).find((each) => each.verdict !== 'pass');
    expect(found).toMatchObject({ step, reason, detail: expect.any(String), remedy: expect.any(String) });
    const asked = await ask('pm_sponsorUserOperation', operation, mode);
    expect(asked.body.error?.data.reason).toBe(reason);
  });

  test.each([
    ['an empty deposit', '0', 'NOT_FUNDED'],
    ['a deposit that is too low', '0.0001', 'DEPOSIT_TOO_LOW'],
  ])('%s', async (_name, deposit, reason) => {
    const poor = await startRpc({ chain: aTokenChain(), deposit });
    try {
      reset(poor);
      const explained = await explain(anOperation(), inUsdx, poor);
      expect(explained.body.result).toMatchObject({ sponsored: false, reason });
      const asked = await ask('pm_sponsorUserOperation', anOperation(), inUsdx, poor);
      expect(asked.body.error?.data.reason).toBe(reason);
    } finally {
      await poor.stop();
    }
  });

  test.each([
    ['an account that did not pay', '0x', 'SENDER_BARRED', '0.05'],
    ['losses of the contract above its budget', addressOf(0xbad), 'TOKEN_LOSS', '0.2'],
  ])('%s, with what was lost and the budget', async (_name, thief, reason, lost) => {
    const fresh = await startRpc({ chain: aTokenChain() });
    try {
      reset(fresh);
      const sender = thief === '0x' ? String(anOperation()['sender']) : thief;
      await lose(fresh, toAddressKey(sender as AddressKey), Number(lost) * 1e9);
      const explained = await explain(anOperation({ nonce: 9 }), inUsdx, fresh);
      expect(explained.body.result).toMatchObject({ sponsored: false, reason });
      expect(explained.body.result?.['losses']).toContainEqual(
        expect.objectContaining({ of: 'contract', lost, budget: '0.1' }),
      );
      expect(stepsOf(explained)).toContainEqual(
        expect.objectContaining({ step: 'lossesAndDeposit', reason, remedy: expect.any(String) }),
      );
      const asked = await ask('pm_sponsorUserOperation', anOperation({ nonce: 9 }), inUsdx, fresh);
      expect(asked.body.error?.data.reason).toBe(reason);
    } finally {
      await fresh.stop();
    }
  });

  test('all obstacles at once, each with what would end it', async () => {
    await host.put({ suspended: true });
    host.world.payment = () => Promise.resolve(refuse('TOKEN_BALANCE', 'too few'));
    const operation = anOperation({ callGasLimit: 99_000_000, maxFeePerGas: 51_000_000_000 });
    const explained = await explain(operation);
    expect(explained.body.result).toMatchObject({ sponsored: false, reason: 'SUSPENDED' });
    for (const reason of ['SUSPENDED', 'FEE_TOO_HIGH', 'GAS_LIMIT_TOO_HIGH', 'TOKEN_BALANCE'])
      expect(stepsOf(explained)).toContainEqual(
        expect.objectContaining({ reason, verdict: 'refuse', remedy: expect.any(String) }),
      );
  });

  test('limits that cannot be estimated are shown as an error, not thrown', async () => {
    host.world.estimate = () => Promise.reject(new DomainError('ESTIMATION_FAILED', 'AA13 initCode failed'));
    const { status, body } = await explain(anOperationWithoutLimits());
    expect(status).toBe(200);
    expect(body.result).toMatchObject({ sponsored: false, reason: 'ESTIMATION_FAILED' });
    expect(body.result?.['steps']).toEqual(
      expect.arrayContaining([
        { step: 'gas', verdict: 'error', reason: 'ESTIMATION_FAILED', detail: 'AA13 initCode failed' },
        { step: 'payment', verdict: 'skipped', detail: 'The gas limits are not known.' },
      ]),
    );
  });

  test('a version without token mode is an error that says so', async () => {
    await host.put({ version: 'verifying-0.7' });
    const { body } = await explain();
    expect(body.error).toMatchObject({ code: -32602, data: { reason: 'MODE_NOT_AVAILABLE' } });
  });
});

test('it reserves nothing, and no signature leaves it', async () => {
  const fresh = await startRpc({ chain: aTokenChain() });
  try {
    reset(fresh);
    const { body, text } = await explain(anOperation(), inUsdx, fresh);
    expect(body.result?.['sponsored']).toBe(true);
    expect(await fresh.usage.reservations(someChainId)).toEqual([]);
    expect(text).not.toContain('paymasterAndData');
    expect(text).not.toMatch(/0x[0-9a-f]{130}/i);
  } finally {
    await fresh.stop();
  }
});

test('it needs an authToken, as in mode SPONSORED', async () => {
  const { status } = await host.call('pm_explainSponsorship', [anOperation(), { mode: 'ERC20', ...inUsdx }]);
  expect(status).toBe(401);
});

/** On EntryPoint 0.8, of an account that borrows the code of a delegate. */
function delegated(): object {
  const { initCode: _none, ...operation } = anOperation();
  const word = `0x${'12'.repeat(32)}`;
  const eip7702Auth = {
    address: addressOf(0xbad),
    chainId: '0x7a69',
    nonce: '0x0',
    r: word,
    s: word,
    yParity: '0x1',
  };
  return { ...operation, factory: '0x7702', factoryData: '0x', eip7702Auth };
}

/** Promises and mines an operation of the sender that costs this many gwei and pays nothing. */
async function lose(at: RpcHost, sender: AddressKey, loss: number): Promise<void> {
  const promised = await ask('pm_sponsorUserOperation', anOperation({ sender, nonce: 1 }), inUsdx, at);
  expect(promised.body.result).toBeDefined();
  const [reservation] = await at.usage.reservations(someChainId);
  if (reservation === undefined) throw new Error('nothing is reserved');
  await settle(at, reservation.key, { contract, loss });
}
