import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { EpochMs } from '../../core/units/time.js';
import { someToken } from '../build/configs.js';
import { aTokenChain, usdx } from '../build/fee-tokens.js';
import { anOperation, sponsored } from '../build/operations.js';
import { startRpc, type RpcAnswer, type RpcHost } from '../build/rpc.js';

// On a roll-up preVerificationGas pays for the data that are posted to layer 1: in estimates, caps, quotes and charges.

/** An ordinary operation costs 0.0001 coins: some 50,000 gas at the network's 2 gwei. */
const quiet = 267n * 10n ** 15n;

let host: RpcHost;
let simulated = 0;
beforeAll(async () => {
  host = await startRpc({ chain: { ...aTokenChain(), dataFee: { kind: 'OpStack' } } });
});
afterAll(() => host.stop());
beforeEach(async () => {
  await host.put({ version: '2.0.0' });
  simulated = 0;
  host.world.estimate = () => {
    simulated += 1;
    return Promise.resolve({
      callGasLimit: 60_000n,
      verificationGasLimit: 100_000n,
      preVerificationGas: 48_000n,
    });
  };
  setPrice(quiet);
});

function setPrice(price: bigint | undefined, ageMs = 0): void {
  const observedAt = (host.clock.now() - ageMs) as EpochMs;
  host.world.dataReading = price === undefined ? undefined : { price, observedAt };
}

const token = { mode: 'ERC20', tokenInfo: { feeTokenAddress: usdx.address } };
let nonce = 0;
const ask = (preVerificationGas: string | undefined, context: object = sponsored): Promise<RpcAnswer> =>
  host.call('pm_sponsorUserOperation', [
    anOperation({ nonce: (nonce += 1), preVerificationGas }),
    { ...context, calculateGasLimits: preVerificationGas === undefined },
  ]);
const gasOf = ({ body }: RpcAnswer): number => Number(body.result?.['preVerificationGas']);
/** Why nothing was signed; undefined when data were. */
function reasonOf({ body }: RpcAnswer): unknown {
  if (body.error !== undefined) return body.error.data.reason;
  return body.result?.['paymasterAndData'] === '0x' ? body.result['reason'] : undefined;
}

describe.each([
  { name: 'SPONSORED', context: sponsored },
  { name: 'ERC20', context: token },
])('mode $name', ({ context }) => {
  test('an estimate follows the price of layer 1', async () => {
    const at = async (price: bigint): Promise<number> => {
      setPrice(price);
      return gasOf(await ask(undefined, context));
    };
    const [free, once, thrice] = [await at(0n), await at(quiet), await at(3n * quiet)];
    expect(once - free).toBeGreaterThan(40_000);
    expect((thrice - free) / (once - free)).toBeCloseTo(3, 1);
  });

  test('the cap follows when the price triples, and a request with limits makes no call', async () => {
    expect(reasonOf(await ask('400000', context))).toBe('GAS_LIMIT_TOO_HIGH');
    setPrice(3n * quiet);
    expect(reasonOf(await ask('400000', context))).toBeUndefined();
    expect(simulated).toBe(0);
  });

  test('whatever price a node invents, the cap stays where the data fee costs 0.001 coins', async () => {
    setPrice(10n ** 40n);
    expect(reasonOf(await ask('2000000', context))).toBe('GAS_LIMIT_TOO_HIGH');
    expect(reasonOf(await ask(undefined, context))).toBe('GAS_LIMIT_TOO_HIGH');
  });

  test.each([
    { name: 'not known', price: undefined, ageMs: 0 },
    { name: 'older than 15 minutes', price: quiet, ageMs: 15 * 60_000 + 1 },
  ])('while it is $name only requests that do not need it are answered', async ({ price, ageMs }) => {
    setPrice(price, ageMs);
    expect(reasonOf(await ask('60000', context))).toBeUndefined();
    expect(reasonOf(await ask('400000', context))).toBe('CHAIN_UNAVAILABLE');
    const estimated = await ask(undefined, context);
    expect(reasonOf(estimated)).toBe('CHAIN_UNAVAILABLE');
    expect(estimated.body.error).toMatchObject({ code: -32003, data: { retryable: true } });
    expect(simulated).toBe(0);
  });

  test('a reading of 15 minutes still counts', async () => {
    setPrice(3n * quiet, 15 * 60_000);
    expect(reasonOf(await ask('400000', context))).toBeUndefined();
  });
});

test('a quote covers the data fee of the operation and of an approve in front of it', async () => {
  const quoteAt = async (price: bigint, isEstimated: boolean): Promise<number> => {
    setPrice(price);
    const { body } = await host.call('pm_getFeeQuoteOrData', [
      anOperation(isEstimated ? { preVerificationGas: undefined } : {}),
      { mode: 'ERC20', calculateGasLimits: isEstimated },
    ]);
    const quotes = body.result?.['feeQuotes'] as readonly { readonly maxGasFee: number }[] | undefined;
    return quotes?.[0]?.maxGasFee ?? Number.NaN;
  };
  expect(await quoteAt(quiet, true)).toBeGreaterThan(await quoteAt(0n, true));
  // With limits given only the approve is left to add.
  expect(await quoteAt(quiet, false)).toBeGreaterThan(await quoteAt(0n, false));
});

test('an explanation shows kind, price for an ordinary operation, and age', async () => {
  setPrice(quiet, 7_000);
  const { body } = await host.call('pm_explainSponsorship', [anOperation(), sponsored], {
    headers: { authToken: someToken },
  });
  expect(body.result?.['dataFee']).toEqual({
    kind: 'OpStack',
    ordinaryOperation: expect.stringMatching(/^0\.000100\d+$/),
    readAt: new Date(host.clock.now() - 7_000).toISOString(),
    ageSeconds: 7,
  });
});
