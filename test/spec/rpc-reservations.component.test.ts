import { describe, expect, test } from '@jest/globals';
import { layouts } from '../../core/paymaster/layouts.js';
import { entryPoints } from '../../core/entry-point/address.js';
import { parseUserOperation } from '../../core/userop/parse.js';
import { toAddressKey } from '../../core/units/address.js';
import { bytesToHex, isHexBytes } from '../../core/units/hex.js';
import {
  addressOf,
  aLimitConfig,
  aPaymasterConfig,
  aProfileConfig,
  someChainId,
  someFunding,
  someNow,
} from '../build/configs.js';
import { anOperation, sponsored, type WireOperation } from '../build/operations.js';
import { useRpc } from '../support/use-rpc.js';

const host = useRpc({
  paymaster: {
    limits: [
      aLimitConfig({ policyId: 'count', scope: 'SMART_ACCOUNT' }),
      aLimitConfig({ policyId: 'gas', thresholdType: 'NATIVE_ASSET', threshold: '10' }),
    ],
  },
});

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
      promises: [
        {
          mode: 'SPONSORED',
          fundingAddress: someFunding.toLowerCase(),
          prefundWei: BigInt(cost) * 10n ** 9n,
          validUntil: someNow / 1000 + 300,
        },
      ],
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

  test('a signature is recorded by the first half of the hash that the contract checks', async () => {
    const operation = anOperation({ nonce: '0x4' });
    const { reservation, result } = await reservationOf(operation);
    const { sponsorship } = layouts['vendor-1.1.0'];
    const data = result['paymasterAndData'];
    if (!isHexBytes(data)) throw new Error('nothing was signed');
    const { validUntil, validAfter } = sponsorship.decode(data);
    const op = {
      ...parseUserOperation(operation, '0.6'),
      callGasLimit: 100_000n,
      verificationGasLimit: 200_000n,
      preVerificationGas: 60_000n,
    };
    const { sponsorship: paymaster, options } = aProfileConfig();
    const fundingAddress = toAddressKey(someFunding);
    const terms = { chainId: someChainId, paymaster, fundingAddress, validUntil, validAfter, options };
    const digest = bytesToHex(sponsorship.hash(op, terms)).slice(0, 34);
    expect(reservation?.promises.map((promise) => promise.digest)).toEqual([digest]);
  });

  test('what was signed before for the same nonce is kept beside', async () => {
    await reservationOf(anOperation({ nonce: '0x5' }));
    const { reservation } = await reservationOf(anOperation({ nonce: '0x5', callGasLimit: 150_000 }));
    expect(reservation?.promises).toHaveLength(2);
    expect(reservation?.limits.map(({ cost }) => cost)).toEqual([1, 1_620_000]);
  });

  test('an operation of a generation that the usage store knows to be suspended is refused there', async () => {
    await host.usage.setSuspended(someChainId, aPaymasterConfig().paymasterId, true);
    const { reservation, result } = await reservationOf(anOperation({ nonce: '0x6' }));
    await host.usage.setSuspended(someChainId, aPaymasterConfig().paymasterId, false);
    expect(result).toMatchObject({ paymasterAndData: '0x', reason: 'SUSPENDED' });
    expect(reservation).toBeUndefined();
  });

  test('a replica that the configs do not reach any longer is refused what they have suspended meanwhile', async () => {
    const newer = [{ id: aPaymasterConfig().paymasterId, generation: host.clock.now() + 1 }];
    await host.usage.noteGenerations(someChainId, newer);
    const { body } = await host.call('pm_sponsorUserOperation', [anOperation({ nonce: '0x7' }), sponsored]);
    expect(body.error).toMatchObject({ code: -32003, data: { reason: 'CONFIG_BEHIND' } });
  });
});
