import { beforeEach, describe, expect, test } from '@jest/globals';
import { entryPointRules } from '../../core/entry-point/table.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { refused, priced } from '../../core/pricing/price-source.js';
import { addressOf, aPaymasterConfig, aProfileConfig, someVersions } from '../build/configs.js';
import { aPrice, aTokenChain, aTokenProfile, eurx, oldx, tokenVersions, usdx } from '../build/fee-tokens.js';
import { anOperation, type WireOperation } from '../build/operations.js';
import type { RpcAnswer } from '../build/rpc.js';
import { useRpc } from '../support/use-rpc.js';

// The methods that AbstractionKit calls before it has an operation, read here as that client reads them.

const host = useRpc({ chain: aTokenChain() });
beforeEach(async () => {
  host.world.price = () => priced(aPrice());
  await host.putChain(aTokenChain());
  await host.put();
});

type Metadata = {
  readonly name: string;
  readonly description: string;
  readonly icons: readonly string[];
  readonly address: string;
  readonly sponsoredEventTopic: string;
  readonly dummyPaymasterAndData: string | Readonly<Record<string, string>>;
};
type Token = {
  readonly name: string;
  readonly symbol: string;
  readonly address: string;
  readonly decimals: number;
  readonly exchangeRate: string;
};

function listOf({ body }: RpcAnswer): {
  readonly paymasterMetadata: Metadata;
  readonly tokens: readonly Token[];
} {
  if (body.error !== undefined) throw new Error(body.error.message);
  // The OpenRPC test compares answers with the published schema.
  return body.result as unknown as {
    readonly paymasterMetadata: Metadata;
    readonly tokens: readonly Token[];
  };
}

/** Those that AbstractionKit keeps for its operation. */
function limitsOf(stub: Metadata['dummyPaymasterAndData']): WireOperation {
  if (typeof stub === 'string') return {};
  const { paymasterVerificationGasLimit, paymasterPostOpGasLimit } = stub;
  return { paymasterVerificationGasLimit, paymasterPostOpGasLimit };
}

const supported = async (entryPoint: unknown = aProfileConfig('1.1.0').entryPoint) =>
  listOf(await host.call('pm_supportedERC20Tokens', [entryPoint]));

describe('pm_chainId and pm_supportedEntryPoints', () => {
  test('the chain is hex, as the third parameter of ERC-7677', async () => {
    const { body } = await host.call('pm_chainId', []);
    expect(body.result).toBe('0x7a69');
  });

  test.each(someVersions)('version %s: the EntryPoint that its paymaster signs for', async (version) => {
    await host.put({ version });
    const { body } = await host.call('pm_supportedEntryPoints', []);
    expect(body.result).toEqual([aProfileConfig(version).entryPoint]);
  });
});

describe('pm_supportedERC20Tokens', () => {
  test('lists the tokens with their present rate, premium included', async () => {
    host.world.price = ({ symbol }) =>
      priced(aPrice({ rate: symbol === 'EURX' ? 10n ** 18n : 3_000_000_001n }));
    const { tokens } = await supported();
    expect(tokens).toEqual([
      // 10 % on 3,000,000,001 base units, rounded up.
      {
        name: 'USDX',
        symbol: 'USDX',
        address: usdx.address,
        decimals: 6,
        exchangeRate: `0x${3_300_000_002n.toString(16)}`,
      },
      {
        name: 'EURX',
        symbol: 'EURX',
        address: eurx.address,
        decimals: 18,
        exchangeRate: `0x${(10n ** 18n).toString(16)}`,
      },
      {
        name: 'OLDX',
        symbol: 'OLDX',
        address: oldx.address,
        decimals: 6,
        exchangeRate: `0x${3_300_000_002n.toString(16)}`,
      },
    ]);
  });

  test('a token without a usable price is left out', async () => {
    host.world.price = ({ symbol }) =>
      symbol === 'OLDX'
        ? refused({ source: 'chainlink', reason: 'STALE', ageSeconds: 9_000, maxAgeSeconds: 7_200 })
        : priced(aPrice());
    const { tokens } = await supported();
    expect(tokens.map(({ symbol }) => symbol)).toEqual(['USDX', 'EURX']);
  });

  test.each(tokenVersions)(
    'version %s: the account has to allow the contract of mode ERC20',
    async (version) => {
      await host.put({ version });
      const { paymasterMetadata } = await supported(aProfileConfig(version).entryPoint);
      expect(paymasterMetadata.address).toBe(aTokenProfile(version).token);
    },
  );

  test.each(someVersions)(
    'version %s: the stub is as long as the signed data of mode SPONSORED',
    async (version) => {
      await host.put({ version });
      const { entryPoint, layout } = aProfileConfig(version);
      const { dummyPaymasterAndData: stub } = (await supported(entryPoint)).paymasterMetadata;
      const { hasPaymasterFields } = entryPointRules[layouts[layout].entryPointVersion].form;
      expect(typeof stub).toBe(hasPaymasterFields ? 'object' : 'string');
      const operation = { ...anOperation(), ...limitsOf(stub) };
      const { body } = await host.call('pm_getPaymasterData', [operation, entryPoint, '0x7a69', {}]);
      const signed = body.result ?? {};
      const fields = typeof stub === 'string' ? { paymasterAndData: stub } : stub;
      for (const [name, value] of Object.entries(fields))
        expect(value).toHaveLength(String(signed[name]).length);
    },
  );

  test.each(tokenVersions)(
    'version %s: both modes sign the gas limits of the stub, since a client keeps them from before it knows its mode',
    async (version) => {
      await host.put({ version });
      host.world.takeable = 10n ** 30n;
      const { entryPoint } = aProfileConfig(version);
      const { dummyPaymasterAndData: stub } = (await supported(entryPoint)).paymasterMetadata;
      for (const context of [{}, { token: usdx.address }]) {
        const operation = { ...anOperation(), ...limitsOf(stub) };
        const { body } = await host.call('pm_getPaymasterData', [operation, entryPoint, '0x7a69', context]);
        expect(body.error).toBeUndefined();
        expect(body.result).toMatchObject(limitsOf(stub));
      }
    },
  );

  test('without a wallet that pays, the stub is of a payment in tokens', async () => {
    const { fundingAddress: _own, ...unfunded } = aPaymasterConfig();
    await host.configs.putPaymaster(unfunded);
    const { paymasterMetadata } = await supported();
    const context = { token: usdx.address };
    const { entryPoint } = aProfileConfig('1.1.0');
    const { body } = await host.call('pm_getPaymasterData', [anOperation(), entryPoint, '0x7a69', context]);
    expect(paymasterMetadata.dummyPaymasterAndData).toHaveLength(
      String(body.result?.['paymasterAndData']).length,
    );
  });

  test('a version without token mode lists no token', async () => {
    await host.put({ version: 'verifying-0.7' });
    const { tokens, paymasterMetadata } = await supported(aProfileConfig('verifying-0.7').entryPoint);
    expect(tokens).toEqual([]);
    expect(paymasterMetadata.address).toBe(aProfileConfig('verifying-0.7').sponsorship);
  });

  test('no parameter means the EntryPoint of the paymaster; another one is -32602 under HTTP 200', async () => {
    expect((await host.call('pm_supportedERC20Tokens', [])).body.error).toBeUndefined();
    const { status, body } = await host.call('pm_supportedERC20Tokens', [addressOf(0xe0)]);
    expect(status).toBe(200);
    expect(body.error?.code).toBe(-32602);
    expect(body.error?.message).toContain('params[0] must be the EntryPoint of this paymaster');
  });
});

describe('the sponsor of a Paymaster', () => {
  const sponsor = { name: 'My "Shop"', icon: 'data:image/svg+xml;base64,PHN2Zy8+' };

  test('is in stub data of mode SPONSORED, and in the metadata of the token list', async () => {
    await host.put({ sponsor });
    const { entryPoint } = aProfileConfig('1.1.0');
    const params = [anOperation(), entryPoint, '0x7a69', {}];
    expect((await host.call('pm_getPaymasterStubData', params)).body.result?.['sponsor']).toEqual(sponsor);
    expect((await host.call('pm_getPaymasterData', params)).body.result).not.toHaveProperty('sponsor');
    expect((await supported()).paymasterMetadata).toMatchObject({
      name: sponsor.name,
      icons: [sponsor.icon],
    });
  });

  test('is not in stub data for a payment in tokens: there the user pays', async () => {
    await host.put({ sponsor });
    const { entryPoint } = aProfileConfig('1.1.0');
    const params = [anOperation(), entryPoint, '0x7a69', { token: usdx.address }];
    expect((await host.call('pm_getPaymasterStubData', params)).body.result).not.toHaveProperty('sponsor');
  });

  test('without one the answer has no such member', async () => {
    const params = [anOperation(), aProfileConfig('1.1.0').entryPoint, '0x7a69', {}];
    expect((await host.call('pm_getPaymasterStubData', params)).body.result).not.toHaveProperty('sponsor');
  });
});
