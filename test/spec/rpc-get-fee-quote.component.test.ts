import { beforeEach, describe, expect, test } from '@jest/globals';
import { addressOf, aLimitConfig } from '../build/configs.js';
import { anOperation, anOperationWithoutLimits, execute } from '../build/operations.js';
import { signerAddress, verifySponsorship } from '../build/rpc.js';
import { useRpc } from '../support/use-rpc.js';

const host = useRpc();
beforeEach(() => host.put());

/** The second parameter as the vendor's client sends it, members of both modes included. */
const asSent = {
  mode: 'SPONSORED',
  calculateGasLimits: true,
  expiryDuration: 600,
  tokenInfo: { tokenList: [] },
  sponsorshipInfo: { webhookData: {}, smartAccountInfo: { name: 'BICONOMY', version: '2.0.0' } },
};

describe('pm_getFeeQuoteOrData for sponsorship', () => {
  test('the service fills paymasterAndData, signed and reserved like a sponsorship', async () => {
    await host.put({ limits: [aLimitConfig({ threshold: '1' })] });
    const operation = anOperation();
    const { status, body } = await host.call('pm_getFeeQuoteOrData', [
      operation,
      { ...asSent, calculateGasLimits: false },
    ]);
    expect(status).toBe(200);
    expect(body.result).toMatchObject({ MODE: 'SPONSORED', mode: 'SPONSORED', preVerificationGas: '60000' });
    const verified = verifySponsorship(operation, body.result);
    expect(verified.signer).toBe(signerAddress);
    expect(verified.validUntil - verified.validAfter).toBe(660);
    const next = await host.call('pm_getFeeQuoteOrData', [anOperation({ nonce: 1 }), { mode: 'SPONSORED' }]);
    expect(next.body.result).toMatchObject({ paymasterAndData: '0x', reason: 'LIMIT_REACHED' });
  });

  test('limits that the client leaves out come with the answer', async () => {
    host.world.estimate = () =>
      Promise.resolve({ callGasLimit: 1001n, verificationGasLimit: 202_002n, preVerificationGas: 3003n });
    const { body } = await host.call('pm_getFeeQuoteOrData', [
      anOperationWithoutLimits({ nonce: 2 }),
      asSent,
    ]);
    expect(body.result).toMatchObject({
      callGasLimit: 1001,
      verificationGasLimit: 202002,
      preVerificationGas: '3003',
    });
    expect(body.result?.['paymasterAndData']).not.toBe('0x');
  });

  test.each([
    ['sponsorshipInfo is missing', { mode: 'SPONSORED' }],
    [
      'an unknown smart account',
      { mode: 'SPONSORED', sponsorshipInfo: { smartAccountInfo: { name: 'OTHER' } } },
    ],
    [
      'null members',
      { mode: 'SPONSORED', sponsorshipInfo: null, expiryDuration: null, calculateGasLimits: null },
    ],
    ['no mode, when it can be sponsored', {}],
  ])('%s: sponsored', async (_name, params) => {
    const { body } = await host.call('pm_getFeeQuoteOrData', [anOperation({ nonce: 3 }), params]);
    expect(body.result?.['MODE']).toBe('SPONSORED');
    expect(body.result?.['paymasterAndData']).not.toBe('0x');
  });

  test('what cannot be sponsored is 0x', async () => {
    const operation = anOperation({ nonce: 4, callData: execute(addressOf(0xdead)) });
    const { body } = await host.call('pm_getFeeQuoteOrData', [operation, { mode: 'SPONSORSHIP' }]);
    expect(body.result).toMatchObject({ MODE: 'SPONSORED', paymasterAndData: '0x' });
  });
});

describe('pm_getFeeQuoteOrData for token payment', () => {
  test('is an error where the chain has no token contract for the version', async () => {
    const { status, body } = await host.call('pm_getFeeQuoteOrData', [
      anOperation(),
      { mode: 'ERC20', tokenInfo: { preferredToken: addressOf(1), tokenList: [] } },
    ]);
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: -32602, data: { reason: 'MODE_NOT_AVAILABLE' } });
  });
});
