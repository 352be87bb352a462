import { beforeEach, describe, expect, test } from '@jest/globals';
import { faulty, priced, refused, type PriceAnswer } from '../../core/pricing/price-source.js';
import { parseDecimal } from '../../core/units/wei.js';
import { aLimitConfig, someChainId, someNow, someToken } from '../build/configs.js';
import { anOperation, sponsored } from '../build/operations.js';
import { useRpc } from '../support/use-rpc.js';

const nativePrice = { chainlink: { nativeFeed: '0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419' } };
// EntryPoint 0.6: (call + 3 × verification + preVerification) × maxFeePerGas = 760,000 × 2 gwei = 0.00152 ether.
const costAt3000 = 4_605_600;

const host = useRpc({
  chain: { nativePrice },
  paymaster: { limits: [aLimitConfig({ name: 'dollars', thresholdType: 'USD', threshold: '10' })] },
});
const inEther = useRpc({
  chain: { nativePrice },
  paymaster: { limits: [aLimitConfig({ thresholdType: 'NATIVE_ASSET', threshold: '10' })] },
});

function at(dollars: string): PriceAnswer {
  const rate = parseDecimal(dollars, 18);
  return priced({ rate, usdPerNative: rate, observedAt: someNow, source: 'feed' });
}

let nonce = 0;
beforeEach(() => {
  host.world.price = () => at('3000');
});
const ask = async (on = host, change: Record<string, unknown> = {}) => {
  const { body } = await on.call('pm_sponsorUserOperation', [
    anOperation({ nonce: `0x${(++nonce).toString(16)}`, ...change }),
    sponsored,
  ]);
  return body;
};
const explained = async (change: Record<string, unknown> = {}) => {
  const headers = { authToken: someToken };
  const { body } = await host.call('pm_explainSponsorship', [anOperation(change), sponsored], { headers });
  return body.result;
};
const heldLimits = async () =>
  (await host.usage.reservations(someChainId)).map(({ key, limits }) => [key.nonce, limits[0]] as const);

describe('A limit in dollars', () => {
  test('holds the cost at the price of the moment and one percent more, with the price', async () => {
    await ask();
    const held = new Map(await heldLimits()).get(BigInt(nonce));
    expect(held).toMatchObject({ unit: 'USD', cost: costAt3000, rate: parseDecimal('3000', 18) });
  });

  test('refuses what does not fit, in dollars', async () => {
    const { result } = await ask(host, { maxFeePerGas: 10 ** 10 });
    expect(result).toMatchObject({ paymasterAndData: '0x', reason: 'LIMIT_REACHED' });
    expect(await explained({ maxFeePerGas: 10 ** 10 })).toMatchObject({
      limits: [{ thresholdType: 'USD', threshold: '10 dollars', needed: '23.028 dollars' }],
    });
  });

  test('whose coin doubles in price takes twice as much of the next operation', async () => {
    host.world.price = () => at('6000');
    const { result } = await ask();
    expect(result).toMatchObject({ paymasterAndData: '0x', reason: 'LIMIT_REACHED' });
  });

  test.each<{ name: string; price: PriceAnswer }>([
    {
      name: 'stale',
      price: refused({ source: 'feed', reason: 'STALE', ageSeconds: 9_000, maxAgeSeconds: 7_200 }),
    },
    { name: 'zero or negative', price: faulty('feed', 'OUT_OF_RANGE', 'answers 0') },
    { name: 'not in dollars', price: priced({ rate: 1n, observedAt: someNow, source: 'feed' }) },
  ])('is not guessed at while the price is $name: the caller may try again', async ({ price }) => {
    host.world.price = () => price;
    const { error } = await ask();
    expect(error).toMatchObject({
      code: -32003,
      // Not its name, which is the owner's.
      message: expect.stringMatching(
        /^A limit in dollars counts the operation, and the coin has no price that may be used\. Try again/,
      ),
      data: { reason: 'PRICE_STALE', retryable: true },
    });
    expect(new Map(await heldLimits()).has(BigInt(nonce))).toBe(false);
  });

  test('is explained with what it lacks', async () => {
    host.world.price = () => faulty('feed', 'UNREACHABLE', 'does not answer');
    expect(await explained()).toMatchObject({
      sponsored: false,
      steps: expect.arrayContaining([
        expect.objectContaining({
          step: 'limitsAndDeposit',
          verdict: 'error',
          reason: 'PRICE_STALE',
          detail: expect.stringMatching(/^".+" is in dollars, and the coin has no price now$/),
        }),
      ]),
    });
  });
});

test('A stale price stops no paymaster without a limit in dollars', async () => {
  inEther.world.price = () => faulty('feed', 'UNREACHABLE', 'does not answer');
  const { result } = await ask(inEther);
  expect(String(result?.['paymasterAndData'])).toMatch(/^0x[0-9a-f]{80,}$/);
});
