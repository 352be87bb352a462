import { beforeEach, describe, expect, test } from '@jest/globals';
import { layouts } from '../../core/paymaster/layouts.js';
import { withApproval } from '../../core/paymaster/token-payment.js';
import { priced, refused } from '../../core/pricing/price-source.js';
import { toAddressKey } from '../../core/units/address.js';
import { parseUserOperation } from '../../core/userop/parse.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { addressOf, someChainId, someNow } from '../build/configs.js';
import {
  aFeeToken,
  aPrice,
  aTokenChain,
  aTokenProfile,
  eurx,
  oldx,
  someTreasury,
  tokenVersions,
  usdx,
} from '../build/fee-tokens.js';
import { anOperation, anOperationWithoutLimits, execute } from '../build/operations.js';
import { type RpcAnswer } from '../build/rpc.js';
import { useRpc } from '../support/use-rpc.js';

type Quote = Readonly<Record<string, unknown>> & {
  readonly tokenAddress: string;
  readonly maxGasFee: number;
};

const unsponsored = anOperation({ callData: execute(addressOf(0xdead)) });
const host = useRpc({ chain: aTokenChain() });
beforeEach(async () => {
  await host.put();
  host.world.price = ({ address }) => (address === oldx.address ? stale : priced(aPrice()));
});

const stale = refused({
  source: 'chainlink 0x5f4e',
  reason: 'STALE',
  ageSeconds: 9_000,
  maxAgeSeconds: 7_200,
});

describe('pm_getFeeQuoteOrData in mode ERC20', () => {
  test('the answer names the contract to approve and has both spellings of the mode', async () => {
    const { status, body } = await quote({});
    expect(status).toBe(200);
    expect(body.result).toMatchObject({
      MODE: 'ERC20',
      mode: 'ERC20',
      paymasterAddress: aTokenProfile('1.1.0').token,
    });
  });

  test('a quote has the documented fields; its time is in seconds', async () => {
    const [first] = quotesOf(await quote({ preferredToken: usdx.address }));
    expect(first).toEqual({
      symbol: 'USDX',
      decimal: 6,
      tokenAddress: usdx.address,
      maxGasFee: expect.any(Number),
      maxGasFeeUSD: expect.any(Number),
      exchangeRate: 3_000_000_000,
      premiumPercentage: '10',
      validUntil: someNow / 1000 + 120,
      logoUrl: 'https://example.com/usdx.svg',
    });
    expect(first?.['maxGasFeeUSD']).toBeCloseTo(first?.maxGasFee ?? 0, 5);
  });

  test.each([
    ['no tokenInfo', undefined],
    ['tokenInfo without members', {}],
    ['an empty list', { tokenList: [] }],
    ['an empty list and an empty preferredToken', { tokenList: [], preferredToken: '' }],
    ['null members', { tokenList: null, preferredToken: null }],
  ])('%s: all tokens are quoted', async (_name, tokenInfo) => {
    expect(symbolsOf(await quote(tokenInfo))).toEqual(['USDX', 'EURX']);
  });

  test.each([
    ['only the list', { tokenList: [eurx.address] }, ['EURX']],
    [
      'only the preferred token: it is first, then all others',
      { preferredToken: eurx.address },
      ['EURX', 'USDX'],
    ],
    [
      'the preferred token first, then the list, each once',
      { preferredToken: eurx.address, tokenList: [usdx.address, eurx.address.toLowerCase(), usdx.address] },
      ['EURX', 'USDX'],
    ],
    ['any case', { tokenList: [`0x${usdx.address.slice(2).toUpperCase()}`] }, ['USDX']],
  ])('%s', async (_name, tokenInfo, symbols) => {
    expect(symbolsOf(await quote(tokenInfo))).toEqual(symbols);
  });

  test('what cannot be quoted is listed as it was spelled, with the reason', async () => {
    const strange = addressOf(0xabcdef).toLowerCase();
    const asked = oldx.address.toUpperCase().replace('0X', '0x');
    const { body } = await quote({ tokenList: [strange, usdx.address, asked] });
    expect(body.result?.['unsupportedTokens']).toEqual([strange, asked]);
    expect(body.result?.['unsupportedReasons']).toEqual({
      [strange]: expect.stringContaining('not served'),
      [asked]: expect.stringContaining('its price is 9000 s old, at most 7200 s are accepted'),
    });
    expect(symbolsOf({ body })).toEqual(['USDX']);
  });

  test.each(tokenVersions)(
    'version %s: maxGasFee covers the operation also once an approve is put in front of it',
    async (version) => {
      await host.put({ version });
      const { codec, contract } = tokenModeOf(version);
      const { body } = await quote({ tokenList: [usdx.address] });
      const maxGasFee = quotesOf({ body })[0]?.maxGasFee ?? 0;
      const op = withApproval(final(anOperation(), version));
      const most = codec.maxTokenCharge(op, {
        chainId: someChainId,
        paymaster: contract,
        token: toAddressKey(usdx.address as `0x${string}`),
        exchangeRate: 3_000_000_000n,
        priceMarkup: 1_100_000,
        validUntil: someNow / 1000 + 300,
        validAfter: 0,
        options: { treasury: someTreasury },
      });
      const approved = BigInt(Math.ceil(maxGasFee * 10 ** 6));
      expect(approved).toBeGreaterThanOrEqual(most);
      expect(approved).toBeLessThanOrEqual(most + 1n);
    },
  );

  test('limits that are missing are estimated without a paymaster, since the account may not be able to pay yet', async () => {
    const seen: unknown[] = [];
    host.world.estimate = (request) => {
      seen.push(request.paymasterAndData);
      return Promise.resolve({
        callGasLimit: 100_000n,
        verificationGasLimit: 200_000n,
        preVerificationGas: 60_000n,
      });
    };
    const [first] = quotesOf(await quote({}, anOperationWithoutLimits()));
    expect(first?.maxGasFee).toBeGreaterThan(0);
    expect(seen).toEqual([undefined]);
  });

  test('an operation whose call fails is not quoted: what it takes is not known', async () => {
    host.world.estimate = () =>
      Promise.resolve({
        callGasLimit: 1n,
        verificationGasLimit: 1n,
        preVerificationGas: 1n,
        reverted: 'nothing to sell',
      });
    const { status, body } = await quote({}, anOperationWithoutLimits());
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: -32501, data: { reason: 'EXECUTION_REVERTS' } });
    expect(body.error?.message).toContain('nothing to sell');
  });

  test.each([
    ['suspended', { suspended: true }, {}, 'SUSPENDED'],
    ['fees above the cap', {}, { maxFeePerGas: '0x174876e800' }, 'FEE_TOO_HIGH'],
    ['limits above the cap', {}, { callGasLimit: 50_000_000 }, 'GAS_LIMIT_TOO_HIGH'],
    ['limits below what the contract needs', {}, { verificationGasLimit: 40_000 }, 'GAS_LIMIT_TOO_LOW'],
  ])('%s: an error with the reason, as the payment would be', async (_name, paymaster, fields, reason) => {
    await host.put(paymaster);
    const { status, body } = await quote({}, anOperation(fields));
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: -32501, data: { reason, retryable: false } });
  });

  test.each([
    ['tokenInfo is not an object', 'USDX', 'params[1].tokenInfo'],
    ['tokenList is not an array', { tokenList: usdx.address }, 'params[1].tokenInfo.tokenList'],
    ['a token is not an address', { tokenList: [usdx.address, '0x12'] }, 'params[1].tokenInfo.tokenList[1]'],
    ['preferredToken is not an address', { preferredToken: 'USDX' }, 'params[1].tokenInfo.preferredToken'],
  ])('%s: -32602 naming the field', async (_name, tokenInfo, field) => {
    const { status, body } = await quote(tokenInfo);
    expect(status).toBe(400);
    expect(body.error?.code).toBe(-32602);
    expect(body.error?.message).toContain(field);
  });

  test('members of the other mode are ignored, and the whitelist does not apply', async () => {
    const { body } = await host.call('pm_getFeeQuoteOrData', [
      unsponsored,
      {
        mode: 'erc20',
        calculateGasLimits: false,
        tokenInfo: {},
        sponsorshipInfo: { webhookData: {}, smartAccountInfo: { name: 'BICONOMY', version: '2.0.0' } },
      },
    ]);
    expect(symbolsOf({ body })).toEqual(['USDX', 'EURX']);
  });

  test('a rate at which the contract could not compute the charge is unsupported, never quoted', async () => {
    host.world.price = () => priced(aPrice({ rate: 2n ** 250n }));
    const { body } = await quote({ tokenList: [usdx.address] });
    expect(body.result).toMatchObject({ feeQuotes: [], unsupportedTokens: [usdx.address] });
  });
});

describe('pm_getFeeQuoteOrData without a mode', () => {
  test('answers a sponsorship when it passes', async () => {
    const { body } = await host.call('pm_getFeeQuoteOrData', [anOperation({ nonce: 9 }), { tokenInfo: {} }]);
    expect(body.result?.['mode']).toBe('SPONSORED');
    expect(body.result?.['paymasterAndData']).not.toBe('0x');
  });

  test('answers quotes when it does not', async () => {
    const { body } = await host.call('pm_getFeeQuoteOrData', [unsponsored, {}]);
    expect(body.result?.['mode']).toBe('ERC20');
    expect(symbolsOf({ body })).toEqual(['USDX', 'EURX']);
  });

  test('answers why it is not sponsored where there is nothing to quote either', async () => {
    host.world.price = () => stale;
    const { body } = await host.call('pm_getFeeQuoteOrData', [unsponsored, {}]);
    expect(body.result).toMatchObject({ paymasterAndData: '0x', reason: 'CONTRACT_NOT_REGISTERED' });
  });

  test('answers why it is not sponsored where the version has no token mode', async () => {
    await host.put({ version: 'verifying-0.7' });
    const { body } = await host.call('pm_getFeeQuoteOrData', [unsponsored, {}]);
    expect(body.result).toMatchObject({ paymasterAndData: '0x', reason: 'CONTRACT_NOT_REGISTERED' });
  });
});

test('a fee token that changes is quoted as it is now', async () => {
  await host.putChain({ feeTokens: [aFeeToken({ symbol: 'NEWX', premiumPercentage: '0' })] });
  const [only] = quotesOf(await quote({}));
  expect(only).toMatchObject({ symbol: 'NEWX', premiumPercentage: '0' });
  await host.putChain();
});

function quote(tokenInfo: unknown, operation = anOperation()): Promise<RpcAnswer> {
  return host.call('pm_getFeeQuoteOrData', [operation, { mode: 'ERC20', tokenInfo }]);
}

function quotesOf({ body }: Pick<RpcAnswer, 'body'>): readonly Quote[] {
  const quotes = body.result?.['feeQuotes'];
  if (!Array.isArray(quotes)) throw new Error(`no quotes in ${JSON.stringify(body)}`);
  return quotes;
}

function symbolsOf(answer: Pick<RpcAnswer, 'body'>): readonly unknown[] {
  return quotesOf(answer).map((each) => each['symbol']);
}

function tokenModeOf(version: string) {
  const { layout, token: contract } = aTokenProfile(version);
  const codec = layouts[layout].token;
  if (codec === undefined || contract === undefined) throw new Error(`${version} has no token mode`);
  return { codec, contract };
}

function final(operation: Readonly<Record<string, unknown>>, version: string): FinalUserOperation {
  const op = parseUserOperation(operation, layouts[aTokenProfile(version).layout].entryPointVersion);
  return {
    ...op,
    callGasLimit: op.callGasLimit ?? 0n,
    verificationGasLimit: op.verificationGasLimit ?? 0n,
    preVerificationGas: op.preVerificationGas ?? 0n,
  };
}
