import { beforeEach, describe, expect, test } from '@jest/globals';
import { entryPoint06 } from '../../core/entry-point/v06.js';
import { priced } from '../../core/pricing/price-source.js';
import { addressOf, aLimitConfig, someChainId, someToken, someVersions } from '../build/configs.js';
import { aPrice, aTokenProfile, usdx } from '../build/fee-tokens.js';
import { anOperation, sponsored, type WireOperation } from '../build/operations.js';
import { useRpc } from '../support/use-rpc.js';

const chain = {
  profiles: someVersions.map(aTokenProfile),
  feeTokens: [usdx],
  minPriorityFeePerGas: '1000000000',
};
const host = useRpc({ chain });
const inTokens = { mode: 'ERC20', tokenInfo: { feeTokenAddress: usdx.address } };
let nonce = 0;
const withTip = (gwei: number): WireOperation =>
  anOperation({ nonce: (nonce += 1), maxPriorityFeePerGas: gwei * 1e9 });

beforeEach(async () => {
  host.world.price = () => priced(aPrice());
  await host.putChain(chain);
  await host.put();
});

describe.each([
  { mode: 'SPONSORED', terms: sponsored, context: {} },
  { mode: 'ERC20', terms: inTokens, context: { token: usdx.address } },
])('minPriorityFeePerGas of the Chain, mode $mode', ({ terms, context }) => {
  const reasonOf = async (method: string, params: readonly unknown[]) => {
    const { body } = await host.call(method, params);
    return body.error?.data.reason ?? body.result?.['reason'];
  };
  const ways: readonly [string, (op: WireOperation) => readonly unknown[]][] = [
    ['pm_sponsorUserOperation', (op) => [op, terms]],
    ['pm_getPaymasterData', (op) => [op, entryPoint06.address, someChainId, context]],
  ];

  test.each(ways)('%s refuses a smaller tip, which would never be mined', async (method, params) => {
    expect(await reasonOf(method, params(withTip(0.999)))).toBe('PRIORITY_FEE_TOO_LOW');
    expect(await reasonOf(method, params(withTip(1)))).toBeUndefined();
    await host.putChain({ ...chain, minPriorityFeePerGas: '0' });
    expect(await reasonOf(method, params(withTip(0)))).toBeUndefined();
  });

  test('a wallet gets a stub before it knows what gas costs', async () => {
    const params = [withTip(0), entryPoint06.address, someChainId, context];
    expect(await reasonOf('pm_getPaymasterStubData', params)).toBeUndefined();
  });

  test('the explanation names the step and both figures', async () => {
    const { body } = await host.call('pm_explainSponsorship', [withTip(0.5), terms], {
      headers: { authToken: someToken },
    });
    expect(JSON.stringify(body.result?.['steps'])).toContain(
      '{"step":"tip","verdict":"refuse","reason":"PRIORITY_FEE_TOO_LOW","detail":"maxPriorityFeePerGas is 500000000 wei, the chain asks for at least 1000000000"',
    );
  });
});

test('nobody fills a limit with operations that no block takes', async () => {
  await host.put({ limits: [aLimitConfig({ threshold: '1' })] });
  for (let at = 0; at < 5; at += 1) await host.call('pm_sponsorUserOperation', [withTip(0.1), sponsored]);
  const { body } = await host.call('pm_sponsorUserOperation', [
    { ...withTip(1), sender: addressOf(0xb0b) },
    sponsored,
  ]);
  expect(body.result?.['paymasterAndData']).not.toBe('0x');
});
