import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { userOpHash } from '../../core/paymaster/user-op-hash.js';
import { entryPoints } from '../../core/paymaster/entry-point.js';
import { parseUserOperation } from '../../core/userop/parse.js';
import { isHexBytes } from '../../core/units/hex.js';
import {
  addressOf,
  aLimitConfig,
  aPaymasterConfig,
  sha256,
  someChainId,
  someFunding,
  someNow,
} from '../build/configs.js';
import { anOperation, sponsored, type WireOperation } from '../build/operations.js';
import { startRpc, type RpcHost } from '../build/rpc.js';

let host: RpcHost;
beforeAll(async () => {
  host = await startRpc({
    paymaster: {
      limits: [
        aLimitConfig({ policyId: 'count', scope: 'SMART_ACCOUNT' }),
        aLimitConfig({ policyId: 'gas', thresholdType: 'NATIVE_ASSET', threshold: '10' }),
      ],
    },
  });
});
afterAll(() => host.stop());

async function reservationOf(operation: WireOperation) {
  const { body } = await host.call('pm_sponsorUserOperation', [operation, sponsored]);
  const nonce = BigInt(String(operation['nonce']));
  const reservation = (await host.usage.reservations(someChainId)).find(({ key }) => key.nonce === nonce);
  return { reservation, result: body.result ?? {} };
}

describe('What a sponsorship reserves', () => {
  test('a count, the maximum cost in gwei, and both deposits, until the data expires', async () => {
    const operation = anOperation({ nonce: '0x1' });
    const { reservation } = await reservationOf(operation);
    // EntryPoint 0.6: (call + 3 × verification + preVerification) × maxFeePerGas = 760,000 × 2 gwei.
    const cost = 1_520_000;
    expect(reservation).toMatchObject({
      mode: 'SPONSORED',
      fundingAddress: someFunding.toLowerCase(),
      validUntil: someNow / 1000 + 300,
      key: {
        chainId: someChainId,
        paymasterId: aPaymasterConfig().paymasterId,
        entryPoint: entryPoints['0.6'].toLowerCase(),
        sender: addressOf(0xa11ce).toLowerCase(),
        nonce: 1n,
      },
      limits: [
        { unit: 'COUNT', cost: 1 },
        { unit: 'NATIVE_ASSET', cost },
      ],
      accounts: [{ need: cost }, { need: cost, fundingAddress: someFunding.toLowerCase() }],
    });
  });

  test('a refused operation reserves nothing', async () => {
    const { reservation, result } = await reservationOf(
      anOperation({ nonce: '0x2', callData: '0x12345678' }),
    );
    expect(result['paymasterAndData']).toBe('0x');
    expect(reservation).toBeUndefined();
  });

  test('a cost is rounded up to whole gwei', async () => {
    const { reservation } = await reservationOf(
      anOperation({ nonce: '0x3', maxFeePerGas: 1, maxPriorityFeePerGas: 1 }),
    );
    expect(reservation?.accounts.map(({ need }) => need)).toEqual([1, 1]);
  });

  test('what was signed is told apart by its userOpHash only where paymasters share wallet and contract', async () => {
    const alone = await reservationOf(anOperation({ nonce: '0x4' }));
    expect(alone.reservation?.userOpHash).toBeUndefined();
    await host.configs.putPaymaster(
      aPaymasterConfig({ paymasterId: 'rival', keys: [{ sha256: sha256('rival') }] }),
    );

    const operation = anOperation({ nonce: '0x5' });
    const shared = await reservationOf(operation);
    const parsed = parseUserOperation(operation, '0.6');
    const data = shared.result['paymasterAndData'];
    if (!isHexBytes(data)) throw new Error('nothing was signed');
    expect(shared.reservation?.userOpHash).toBe(
      userOpHash(
        { ...parsed, callGasLimit: 100_000n, verificationGasLimit: 200_000n, preVerificationGas: 60_000n },
        data,
        { version: '0.6', entryPoint: entryPoints['0.6'], chainId: someChainId },
      ),
    );
  });
});
