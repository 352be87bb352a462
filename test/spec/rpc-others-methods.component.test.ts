import { beforeEach, describe, expect, test } from '@jest/globals';
import { entryPointRules } from '../../core/entry-point/table.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { refused } from '../../core/pricing/price-source.js';
import { toSeconds } from '../../core/units/time.js';
import { addressOf, aLimitConfig, aProfileConfig, someVersions } from '../build/configs.js';
import { aPrice, aTokenChain, eurx, tokenVersions, usdx } from '../build/fee-tokens.js';
import { anOperation, type WireOperation } from '../build/operations.js';
import { signerAddress, verifySponsorship, verifyTokenPayment } from '../build/rpc.js';
import { useRpc } from '../support/use-rpc.js';

// Methods of other services, as their own clients call them.

const host = useRpc({ chain: aTokenChain() });
const found = { callGasLimit: 60_000n, verificationGasLimit: 100_000n, preVerificationGas: 50_000n };
const foundFields = { callGasLimit: '0xea60', verificationGasLimit: '0x186a0', preVerificationGas: '0xc350' };
const gwei = 1_000_000_000;
let nonce = 0;
const head = { number: 1, baseFeePerGas: BigInt(gwei), priorityFeePerGas: BigInt(gwei) };
beforeEach(async () => {
  await host.put();
  setHead({});
  host.world.estimate = () => Promise.resolve(found);
});

const entryPointOf = (version: string) => aProfileConfig(version).entryPoint;
const aSender = () => addressOf(0xbee_0000 + nonce);
const anOp = (fields: WireOperation = {}): WireOperation => {
  nonce += 1;
  // Losses by unpaid tokens are bounded for each account.
  return anOperation({ nonce, sender: aSender(), ...fields });
};
const without = (operation: WireOperation, ...names: readonly string[]): WireOperation =>
  Object.fromEntries(Object.entries(operation).filter(([name]) => !names.includes(name)));
const limits = ['callGasLimit', 'verificationGasLimit', 'preVerificationGas'];
const fees = ['maxFeePerGas', 'maxPriorityFeePerGas'];
const paymasterFields = (version: string) =>
  entryPointRules[layouts[aProfileConfig(version).layout].entryPointVersion].form.hasPaymasterFields
    ? ['paymaster', 'paymasterData', 'paymasterVerificationGasLimit', 'paymasterPostOpGasLimit']
    : ['paymasterAndData'];
/** The operation as the client sends it: with everything that was answered. */
const merged = (operation: WireOperation, result: Readonly<Record<string, unknown>> = {}): WireOperation => ({
  ...operation,
  ...(result as WireOperation),
});

describe('zd_sponsorUserOperation', () => {
  const ask = (userOp: unknown, more: object = {}, version = '1.1.0') =>
    host.call('zd_sponsorUserOperation', [
      {
        chainId: 31337,
        userOp,
        entryPointAddress: entryPointOf(version),
        shouldOverrideFee: false,
        shouldConsume: true,
        ...more,
      },
    ]);

  test.each(someVersions)('version %s: every field to copy, in hex', async (version) => {
    await host.put({ version });
    const operation = without(anOp(), ...limits);
    const { status, body } = await ask(operation, {}, version);
    expect(status).toBe(200);
    expect(Object.keys(body.result ?? {}).sort()).toEqual(
      [...paymasterFields(version), ...limits, ...fees].sort(),
    );
    expect(body.result).toMatchObject(foundFields);
    expect(verifySponsorship(merged(operation, body.result), body.result, version).signer).toBe(
      signerAddress,
    );
  });

  test('a token pays where one is named', async () => {
    const operation = without(anOp(), ...limits);
    const { body } = await ask(operation, { gasTokenData: { tokenAddress: usdx.address } });
    expect(verifyTokenPayment(merged(operation, body.result), body.result).token).toBe(
      usdx.address.toLowerCase(),
    );
  });

  test('a token of another shape is an error, and never sponsored', async () => {
    for (const gasTokenData of [{}, 'USDC', { tokenAddress: 1 }, { token: usdx.address }])
      expect((await ask(anOp(), { gasTokenData })).body.error).toMatchObject({
        code: -32602,
        message: expect.stringContaining('params[0].gasTokenData'),
      });
  });

  test('fees that are missing, or shall be overridden, are ours, and are signed', async () => {
    setHead({ baseFeePerGas: BigInt(2 * gwei) });
    const ours = { maxFeePerGas: hex(4 * gwei), maxPriorityFeePerGas: hex(gwei) };
    const bare = without(anOp(), ...limits, ...fees);
    const filled = await ask(bare);
    expect(filled.body.result).toMatchObject(ours);
    expect(verifySponsorship(merged(bare, filled.body.result), filled.body.result).signer).toBe(
      signerAddress,
    );
    const own = anOp({ maxFeePerGas: '3000000000', maxPriorityFeePerGas: '2000000000' });
    expect((await ask(own, { shouldOverrideFee: true })).body.result).toMatchObject(ours);
    expect(
      (await ask(anOp({ maxFeePerGas: '3000000000', maxPriorityFeePerGas: '2000000000' }))).body.result,
    ).toMatchObject({
      maxFeePerGas: hex(3 * gwei),
      maxPriorityFeePerGas: hex(2 * gwei),
    });
  });

  test('fees are at least what the chain asks for', async () => {
    await host.putChain({ ...aTokenChain(), minPriorityFeePerGas: String(5 * gwei) });
    const { body } = await ask(without(anOp(), ...limits, ...fees));
    expect(body.result).toMatchObject({ maxPriorityFeePerGas: hex(5 * gwei) });
    await host.putChain(aTokenChain());
  });

  test('a refusal is an error under HTTP 200', async () => {
    await host.put({ suspended: true });
    const { status, body } = await ask(anOp());
    expect([status, body.error?.code, body.error?.data.reason]).toEqual([200, -32501, 'SUSPENDED']);
  });

  test.each([
    [{ chainId: 1 }, 'params[0].chainId must be the chain of this paymaster, 31337'],
    [
      { entryPointAddress: addressOf(1) },
      'params[0].entryPointAddress must be the EntryPoint of this paymaster',
    ],
    [{ userOp: { sender: 'me' } }, 'params[0].userOp.sender must be an address'],
    [{ userOp: 'me' }, 'params[0].userOp must be a user operation object'],
    [{ shouldConsume: false }, 'params[0].shouldConsume must be true or left out'],
    [{ shouldOverrideFee: 'yes' }, 'params[0].shouldOverrideFee must be true or false'],
  ])('%j is refused', async (more, message) => {
    const { body } = await ask(anOp(), more);
    expect(body.error).toMatchObject({ code: -32602, message: expect.stringContaining(message) });
  });

  test.each([[[]], [['me']], [[null]]])('params %j are refused', async (params) => {
    const { body } = await host.call('zd_sponsorUserOperation', params);
    expect(body.error).toMatchObject({
      code: -32602,
      message: expect.stringContaining('params[0] must be an object'),
    });
  });
});

describe('alchemy_requestGasAndPaymasterAndData', () => {
  const ask = (userOperation: unknown, more: object = {}, version = '1.1.0') =>
    host.call('alchemy_requestGasAndPaymasterAndData', [
      {
        policyId: 'p',
        entryPoint: entryPointOf(version),
        userOperation,
        dummySignature: '0x11',
        overrides: {},
        ...more,
      },
    ]);
  const bare = () => without(anOp(), ...limits, ...fees, 'signature');

  test.each(someVersions)(
    'version %s: limits, fees and data for an operation without any',
    async (version) => {
      await host.put({ version });
      const operation = bare();
      const { status, body } = await ask(operation, {}, version);
      expect(status).toBe(200);
      expect(Object.keys(body.result ?? {}).sort()).toEqual(
        [...paymasterFields(version), ...limits, ...fees].sort(),
      );
      expect(body.result).toMatchObject(foundFields);
      expect(verifySponsorship(merged(operation, body.result), body.result, version).signer).toBe(
        signerAddress,
      );
    },
  );

  test('the dummy signature is simulated', async () => {
    const signatures: string[] = [];
    host.world.estimate = ({ op }) => {
      signatures.push(op.signature);
      return Promise.resolve(found);
    };
    await ask(bare());
    expect(signatures).toEqual(['0x11']);
  });

  test('values of overrides are signed as given, and what is missing is found', async () => {
    const operation = bare();
    const overrides = {
      callGasLimit: '0x15f90',
      maxFeePerGas: hex(3 * gwei),
      maxPriorityFeePerGas: hex(gwei),
    };
    const { body } = await ask(operation, { overrides });
    expect(body.result).toMatchObject({ ...foundFields, ...overrides });
    expect(verifySponsorship(merged(operation, body.result), body.result).signer).toBe(signerAddress);
  });

  test('multipliers raise what we find', async () => {
    setHead({ baseFeePerGas: BigInt(2 * gwei) });
    const overrides = { callGasLimit: { multiplier: 1.5 }, maxFeePerGas: { multiplier: 2 } };
    const { body } = await ask(bare(), { overrides });
    expect(body.result).toMatchObject({
      ...foundFields,
      callGasLimit: hex(90_000),
      maxFeePerGas: hex(8 * gwei),
      maxPriorityFeePerGas: hex(gwei),
    });
  });

  test('and count also where the operation has the figure already', async () => {
    setHead({ baseFeePerGas: BigInt(2 * gwei) });
    const overrides = { callGasLimit: { multiplier: 1.5 }, maxFeePerGas: { multiplier: 2 } };
    const own = { ...bare(), callGasLimit: '0x1', maxFeePerGas: hex(5 * gwei) };
    const { body } = await ask(own, { overrides });
    expect(body.result).toMatchObject({ callGasLimit: hex(90_000), maxFeePerGas: hex(8 * gwei) });
    expect(verifySponsorship(merged(own, body.result), body.result).signer).toBe(signerAddress);
  });

  test('the largest multipliers stay within the caps and the bound on unused gas, or are refused', async () => {
    const most = { multiplier: 10 };
    const reasonOf = async (overrides: object, version: string) => {
      await host.put({ version });
      return (await ask(bare(), { overrides }, version)).body.error?.data.reason;
    };
    host.world.estimate = () => Promise.resolve({ ...found, preVerificationGas: 900_000n });
    expect(await reasonOf({ preVerificationGas: most }, '1.1.0')).toBe('GAS_LIMIT_TOO_HIGH');
    host.world.estimate = () => Promise.resolve({ ...found, callGasLimit: 900_000n });
    // Only later EntryPoints charge for gas that is not used.
    expect(await reasonOf({ callGasLimit: most }, '1.1.0')).toBeUndefined();
    expect(await reasonOf({ callGasLimit: most }, '2.0.0')).toBe('GAS_LIMIT_TOO_HIGH');
    expect(await reasonOf({ maxFeePerGas: most, maxPriorityFeePerGas: most }, '1.1.0')).toBe(
      'PRIORITY_FEE_TOO_HIGH',
    );
  });

  test('a maximum of the caller below our tip takes both fees', async () => {
    setHead({ baseFeePerGas: 0n, priorityFeePerGas: BigInt(2 * gwei) });
    const { body } = await ask(bare(), { overrides: { maxFeePerGas: hex(gwei) } });
    expect(body.result).toMatchObject({ maxFeePerGas: hex(gwei), maxPriorityFeePerGas: hex(gwei) });
  });

  test('a token pays up to its maximum', async () => {
    const operation = bare();
    const erc20Context = { tokenAddress: usdx.address, maxTokenAmount: '0xffffffffff' };
    const { body } = await ask(operation, { erc20Context });
    expect(verifyTokenPayment(merged(operation, body.result), body.result).token).toBe(
      usdx.address.toLowerCase(),
    );
    const little = await ask(bare(), { erc20Context: { ...erc20Context, maxTokenAmount: '0x1' } });
    expect(little.body.error?.data.reason).toBe('TOKEN_AMOUNT_TOO_HIGH');
  });

  test.each([
    [
      { overrides: { callGasLimit: { multiplier: 0.5 } } },
      'params[0].overrides.callGasLimit.multiplier must be a number from 1 to 10',
    ],
    [
      { overrides: { callGasLimit: { multiplier: '2' } } },
      'params[0].overrides.callGasLimit.multiplier must be a number from 1 to 10',
    ],
    [{ overrides: [] }, 'params[0].overrides must be an object'],
    [{ overrides: { maxFeePerGas: 'high' } }, 'params[0].overrides.maxFeePerGas'],
    [
      { erc20Context: { tokenAddress: usdx.address, permit: '0x01' } },
      'params[0].erc20Context.permit must be left out',
    ],
    [{ entryPoint: addressOf(1) }, 'params[0].entryPoint must be the EntryPoint of this paymaster'],
    [{ userOperation: {} }, 'params[0].userOperation.sender must be given'],
  ])('%j is refused', async (more, message) => {
    const { body } = await ask(bare(), more);
    expect(body.error).toMatchObject({ code: -32602, message: expect.stringContaining(message) });
  });
});

describe('pm_validateSponsorshipPolicies', () => {
  const ask = (ids: unknown, operation = anOp()) =>
    host.call('pm_validateSponsorshipPolicies', [operation, entryPointOf('1.1.0'), ids]);
  const namesOf = (result: unknown) =>
    (result as readonly { readonly sponsorshipPolicyId: string }[]).map((one) => one.sponsorshipPolicyId);

  test('answers those with which the operation would be sponsored', async () => {
    await host.put({
      campaigns: ['spring', 'summer'],
      sponsor: { name: 'My Shop' },
      limits: ['spring', 'summer'].map(ofCampaign),
    });
    const { status, body } = await ask(['spring', 'winter', 'summer', 'spring']);
    expect(status).toBe(200);
    expect(namesOf(body.result)).toEqual(['spring', 'summer']);
    expect((body.result as unknown as readonly object[])[0]).toEqual({
      sponsorshipPolicyId: 'spring',
      data: { name: 'spring', author: 'My Shop', icon: null, description: null },
    });
  });

  test('answers none for an operation that is refused, and records nothing', async () => {
    await host.put({ suspended: true });
    expect((await ask(['spring'])).body.result).toEqual([]);
  });

  test.each([[undefined], ['spring'], [[1]], [Array.from({ length: 21 }, (_, i) => `c-${i}`)]])(
    'ids %j are refused',
    async (ids) => {
      expect((await ask(ids)).body.error).toMatchObject({
        code: -32602,
        message: expect.stringContaining('params[2] must be an array of at most 20 texts'),
      });
    },
  );
});

describe('pimlico_getTokenQuotes', () => {
  const ask = (tokens: unknown, version = '1.1.0', chainId: unknown = '0x7a69') =>
    host.call('pimlico_getTokenQuotes', [{ tokens }, entryPointOf(version), chainId]);
  type Quote = Readonly<
    Record<'paymaster' | 'token' | 'postOpGas' | 'exchangeRate' | 'exchangeRateNativeToUsd', string>
  >;
  const quotesOf = (result: unknown) => (result as { readonly quotes: readonly Quote[] }).quotes;

  test.each(tokenVersions)(
    'version %s: what a client computes covers what the contract can take',
    async (version) => {
      await host.put({ version });
      const { body } = await ask([usdx.address, eurx.address], version);
      const quotes = quotesOf(body.result);
      expect(quotes.map(({ token }) => token.toLowerCase())).toEqual(
        [usdx, eurx].map(({ address }) => address.toLowerCase()),
      );
      const gas = { callGasLimit: '0x7a120', verificationGasLimit: '0xaae60', preVerificationGas: '0xea60' };
      for (const [index, { address: tokenAddress }] of [usdx, eurx].entries()) {
        const operation = anOp(gas);
        const pay = (erc20Context: object) =>
          host.call('pm_getPaymasterData', [operation, entryPointOf(version), '0x7a69', { erc20Context }]);
        const refusal = (await pay({ tokenAddress, maxTokenAmount: '0x1' })).body.error?.message ?? '';
        const most = BigInt(/may take (\d+) base units/.exec(refusal)?.[1] ?? 0);
        const { result = {} } = (await pay({ tokenAddress })).body;
        const { exchangeRate, postOpGas } = quotes[index]!;
        const fields: WireOperation = { ...gas, ...result };
        const sum = [...limits, 'paymasterVerificationGasLimit', 'paymasterPostOpGasLimit']
          .map((name) => BigInt((fields[name] ?? 0) as string | number))
          .reduce((total, limit) => total + limit, BigInt(postOpGas));
        const computed =
          (sum * BigInt(String(operation['maxFeePerGas'])) * BigInt(exchangeRate)) / 10n ** 18n;
        expect(most).toBeGreaterThan(0n);
        expect(computed).toBeGreaterThanOrEqual(most);
        // And asks for no multiple of it.
        expect(computed).toBeLessThan(3n * most);
      }
    },
  );

  test('a coin of almost no price makes no quote beyond measure', async () => {
    setHead({ baseFeePerGas: 0n, priorityFeePerGas: 0n });
    const [quote] = quotesOf((await ask([usdx.address])).body.result);
    expect(Number(quote!.postOpGas)).toBeLessThan(2_000_000);
  });

  test('dollars have six decimals', async () => {
    expect(quotesOf((await ask([usdx.address])).body.result)[0]).toMatchObject({
      exchangeRateNativeToUsd: hex(3_000_000_000),
    });
  });

  test('a token that is not served, or has no usable price, has no quote', async () => {
    host.world.price = (token) =>
      token.symbol === 'EURX'
        ? refused({ source: 'static', reason: 'STALE', ageSeconds: 9, maxAgeSeconds: 1 })
        : { ok: true, price: aPrice() };
    const { body } = await ask([eurx.address, addressOf(0xabc), usdx.address]);
    expect(quotesOf(body.result).map(({ token }) => token.toLowerCase())).toEqual([
      usdx.address.toLowerCase(),
    ]);
  });

  test.each([
    [[undefined], 'params[0] must be an object with tokens'],
    [[['me']], 'params[0].tokens[0] must be the address of a token'],
    [[[usdx.address], '1.1.0', '0x1'], 'params[2] must be the chain of this paymaster'],
  ] as const)('%j is refused', async ([tokens, version, chainId], message) => {
    expect((await ask(tokens, version, chainId)).body.error).toMatchObject({
      code: -32602,
      message: expect.stringContaining(message),
    });
  });
});

describe('fees, as clients of other services ask for them before they ask anything else', () => {
  const ours = { maxFeePerGas: hex(4 * gwei), maxPriorityFeePerGas: hex(gwei) };
  beforeEach(() => setHead({ baseFeePerGas: BigInt(2 * gwei) }));

  test.each(['zd_getUserOperationGasPrice', 'biconomy_getGasFeeValues'])(
    '%s: ours, for each speed that they may take',
    async (method) => {
      const { status, body } = await host.call(method, []);
      expect([status, body.result]).toEqual([200, { slow: ours, standard: ours, fast: ours }]);
    },
  );

  test('rundler_maxPriorityFeePerGas: the tip alone, at least what the chain asks for', async () => {
    const tip = async () => (await host.call('rundler_maxPriorityFeePerGas', [])).body.result;
    expect(await tip()).toBe(ours.maxPriorityFeePerGas);
    await host.putChain({ ...aTokenChain(), minPriorityFeePerGas: String(5 * gwei) });
    expect(await tip()).toBe(hex(5 * gwei));
    await host.putChain(aTokenChain());
  });

  test('an operation with them is sponsored', async () => {
    const { body } = await host.call('zd_getUserOperationGasPrice', []);
    const { standard } = Object(body.result);
    const operation = anOp(standard);
    const answer = await host.call('pm_getPaymasterData', [operation, entryPointOf('1.1.0'), '0x7a69', {}]);
    expect(answer.body.error).toBeUndefined();
  });
});

function setHead(fees: Partial<typeof head>): void {
  const now = host.clock.now();
  host.world.head = { ...head, ...fees, timestamp: toSeconds(now), observedAt: now };
}

function ofCampaign(campaign: string) {
  return { ...aLimitConfig({ policyId: campaign, name: campaign }), campaign };
}

function hex(value: number): string {
  return `0x${value.toString(16)}`;
}
