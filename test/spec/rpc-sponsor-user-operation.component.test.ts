import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { someFunding, someNow, someVersions } from '../build/configs.js';
import { anOperation, sponsored } from '../build/operations.js';
import { signerAddress, startRpc, verifySponsorship, type RpcHost } from '../build/rpc.js';

let host: RpcHost;
beforeAll(async () => {
  host = await startRpc();
});
afterAll(() => host.stop());

describe('pm_sponsorUserOperation: computes the paymasterAndData field for the given request', () => {
  test('the answer holds MODE, paymasterAndData and the three limits, in the documented types', async () => {
    const operation = anOperation();
    const { status, body } = await host.call('pm_sponsorUserOperation', [operation, sponsored]);
    expect(status).toBe(200);
    expect(body.result).toEqual({
      mode: 'SPONSORED',
      MODE: 'SPONSORED',
      paymasterAndData: expect.stringMatching(/^0x[0-9a-f]{552}$/),
      preVerificationGas: '60000',
      verificationGasLimit: 200000,
      callGasLimit: 100000,
    });
    expect(verifySponsorship(operation, body.result)).toEqual({
      signer: signerAddress,
      validUntil: someNow / 1000 + 300,
      validAfter: someNow / 1000 - 60,
      paymaster: expect.any(String),
      fundingAddress: someFunding.toLowerCase(),
    });
  });
});
