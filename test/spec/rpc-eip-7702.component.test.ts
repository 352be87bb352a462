import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { entryPoints } from '../../core/paymaster/entry-point.js';
import { addressOf } from '../build/configs.js';
import { aTokenChain, usdx } from '../build/fee-tokens.js';
import { anOperation } from '../build/operations.js';
import {
  signerAddress,
  startRpc,
  verifySponsorship,
  verifyTokenPayment,
  type RpcAnswer,
  type RpcHost,
} from '../build/rpc.js';

// An EIP-7702 operation runs the code of its delegate, so the delegate has to be one that the chain's platform trusts.

const trusted = addressOf(0x7702);
let host: RpcHost;
beforeAll(async () => {
  host = await startRpc({
    chain: { ...aTokenChain(), delegates: [trusted] },
    paymaster: { version: 'singleton-0.8' },
  });
});
afterAll(() => host.stop());

const sponsoredMode = { mode: 'SPONSORED' };
const tokenMode = { mode: 'ERC20', tokenInfo: { feeTokenAddress: usdx.address } };

function delegated(delegate: string, overrides: object = {}) {
  const { initCode: _none, ...operation } = anOperation();
  const word = `0x${'12'.repeat(32)}`;
  return {
    ...operation,
    factory: '0x7702',
    factoryData: '0x',
    eip7702Auth: { address: delegate, chainId: '0x7a69', nonce: '0x0', r: word, s: word, yParity: '0x1' },
    ...overrides,
  };
}

describe('an EIP-7702 operation on EntryPoint 0.8', () => {
  test('with a trusted delegate is sponsored, and may pay in tokens', async () => {
    const operation = delegated(trusted);
    const data = await host.call('pm_sponsorUserOperation', [operation, sponsoredMode]);
    expect(verifySponsorship(operation, data.body.result, 'singleton-0.8').signer).toBe(signerAddress);
    const payment = await host.call('pm_sponsorUserOperation', [operation, tokenMode]);
    expect(verifyTokenPayment(operation, payment.body.result, 'singleton-0.8').signer).toBe(signerAddress);
  });

  test.each([
    ['another delegate', delegated(addressOf(0xbad))],
    ['no authorization to look at', delegated(trusted, { eip7702Auth: undefined })],
  ])('with %s is refused in every form', async (_name, operation) => {
    const sponsorship = await host.call('pm_sponsorUserOperation', [operation, sponsoredMode]);
    expect(sponsorship.body.result).toMatchObject({ paymasterAndData: '0x', reason: 'DELEGATE_NOT_ALLOWED' });
    const form = [operation, entryPoints['0.8'], '0x7a69'];
    const errors: readonly RpcAnswer[] = await Promise.all([
      host.call('pm_sponsorUserOperation', [operation, tokenMode]),
      host.call('pm_getFeeQuoteOrData', [operation, { mode: 'ERC20' }]),
      host.call('pm_getPaymasterStubData', [...form, null]),
      host.call('pm_getPaymasterData', [...form, null]),
      host.call('pm_getPaymasterStubData', [...form, { token: usdx.address }]),
      host.call('pm_getPaymasterData', [...form, { token: usdx.address }]),
    ]);
    for (const { body } of errors)
      expect(body.error).toMatchObject({ code: -32501, data: { reason: 'DELEGATE_NOT_ALLOWED' } });
  });

  test('is not read on an earlier EntryPoint', async () => {
    await host.put({ version: 'singleton-0.7' });
    const { body } = await host.call('pm_sponsorUserOperation', [delegated(trusted), sponsoredMode]);
    expect(body.error?.code).toBe(-32602);
    expect(body.error?.message).toContain('params[0].factory');
    await host.put();
  });
});
