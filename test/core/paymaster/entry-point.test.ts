import { describe, expect, test } from '@jest/globals';
import { Interface, hashMessage, keccak256 as ethersKeccak } from 'ethers';
import fc from 'fast-check';
import { keccak256 } from '../../../core/crypto/keccak.js';
import {
  decodeUserOperationEvent,
  userOperationEventTopic,
} from '../../../core/entry-point/user-operation-event.js';
import { entryPointVersion, entryPoints } from '../../../core/entry-point/address.js';
import { userOpHash } from '../../../core/entry-point/user-op-hash.js';
import { toAddressKey } from '../../../core/units/address.js';
import { bytesToHex } from '../../../core/units/hex.js';
import type { Hex } from '../../../core/units/hex.js';
import { eip7702Factory } from '../../../core/entry-point/eip-7702.js';
import { maxCost, requiredGas } from '../../../core/entry-point/gas.js';
import type { Eip7702Auth } from '../../../core/entry-point/user-operation.js';
import { entryPointVersions as versions } from '../../../core/entry-point/version.js';
import { hashByViem } from '../entry-point/hash-by-viem.js';
import { anExampleOperation, anyBytes, anyOperation } from './operations.js';
import { personalDigest } from '../../build/signing.js';

const paymasterAndData06 = fc.oneof(fc.constant<Hex>('0x'), anyBytes(20, 300));
const paymasterAndData07 = fc.oneof(
  fc.constant<Hex>('0x'),
  // Limits of at most 64 bits each, as the EntryPoint packs 128.
  fc
    .tuple(anyBytes(20, 20), anyBytes(8, 8), anyBytes(8, 8), anyBytes(0, 200))
    .map(
      ([paymaster, verification, postOp, data]): Hex =>
        `${paymaster}${'00'.repeat(8)}${verification.slice(2)}${'00'.repeat(8)}${postOp.slice(2)}${data.slice(2)}`,
    ),
);

describe('userOpHash', () => {
  test.each(versions)('of EntryPoint %s is what viem computes', (version) => {
    fc.assert(
      fc.property(
        anyOperation,
        version === '0.6' ? paymasterAndData06 : paymasterAndData07,
        fc.integer({ min: 1, max: 2 ** 31 }),
        (op, paymasterAndData, chainId) => {
          const target = { version, entryPoint: entryPoints[version], chainId };
          expect(userOpHash(op, paymasterAndData, target)).toBe(
            hashByViem(op, paymasterAndData, version, chainId),
          );
        },
      ),
    );
  });
});

describe.each(['0.8', '0.9'] as const)('userOpHash of an EIP-7702 account on EntryPoint %s', (version) => {
  const eip7702Auth: Eip7702Auth = {
    address: toAddressKey('0xe6cae83bde06e4c305530e199d7217f42808555b'),
    chainId: 31337n,
    nonce: 0n,
    r: `0x${'11'.repeat(32)}`,
    s: `0x${'22'.repeat(32)}`,
    yParity: 0,
  };
  const target = { version, entryPoint: entryPoints[version], chainId: 31337 };

  test.each<{ name: string; initCode: Hex }>([
    { name: 'alone', initCode: eip7702Factory },
    { name: 'with factory data', initCode: `${eip7702Factory}c0ffee` },
  ])('puts the delegate in the place of the EIP-7702 marker, $name', ({ initCode }) => {
    const op = { ...anExampleOperation, initCode, eip7702Auth };
    expect(userOpHash(op, '0x', target)).toBe(hashByViem(op, '0x', version, 31337));
  });

  test('does not depend on how the marker is padded, as in the EntryPoint', () => {
    const short = { ...anExampleOperation, initCode: '0x7702' as const, eip7702Auth };
    const padded = { ...anExampleOperation, initCode: eip7702Factory, eip7702Auth };
    expect(userOpHash(short, '0x', target)).toBe(userOpHash(padded, '0x', target));
  });

  test('is unknown when only the chain knows the delegate', () => {
    expect(userOpHash({ ...anExampleOperation, initCode: eip7702Factory }, '0x', target)).toBeUndefined();
  });
});

describe('EntryPoints', () => {
  test.each(versions)('%s is recognised by its address in any case', (version) => {
    expect(entryPointVersion(entryPoints[version])).toBe(version);
    expect(entryPointVersion(entryPoints[version].toLowerCase())).toBe(version);
  });

  test('another address is not an EntryPoint', () => {
    expect(entryPointVersion('0x0000000000000000000000000000000000000001')).toBeUndefined();
  });
});

describe('UserOperationEvent', () => {
  const event = new Interface([
    'event UserOperationEvent(bytes32 indexed userOpHash, address indexed sender, address indexed paymaster, uint256 nonce, bool success, uint256 actualGasCost, uint256 actualGasUsed)',
  ]);
  const hash: Hex = `0x${'ab'.repeat(32)}`;
  const encode = (success: boolean) => {
    const values = [hash, '0x' + '12'.repeat(20), '0x' + '34'.repeat(20), 2n ** 200n + 5n, success, 7n, 9n];
    const { topics, data } = event.encodeEventLog('UserOperationEvent', values);
    return { topics: topics as Hex[], data: data as Hex };
  };

  test.each([true, false])('is decoded, success %s', (success) => {
    expect(decodeUserOperationEvent(encode(success))).toEqual({
      userOpHash: hash,
      sender: `0x${'12'.repeat(20)}`,
      paymaster: `0x${'34'.repeat(20)}`,
      nonce: 2n ** 200n + 5n,
      success,
      actualGasCost: 7n,
      actualGasUsed: 9n,
    });
    expect(encode(success).topics[0]).toBe(userOperationEventTopic);
  });

  test('another log is undefined', () => {
    const log = encode(true);
    expect(decodeUserOperationEvent({ ...log, topics: [hash] })).toBeUndefined();
    expect(decodeUserOperationEvent({ topics: log.topics, data: '0x' })).toBeUndefined();
    expect(decodeUserOperationEvent({ topics: log.topics.slice(0, 3), data: log.data })).toBeUndefined();
    expect(decodeUserOperationEvent({ topics: [], data: '0x' })).toBeUndefined();
  });
});

describe('the most that an operation costs', () => {
  const gas = { paymasterVerificationGasLimit: 10n, paymasterPostOpGasLimit: 20n };
  const op = {
    ...anExampleOperation,
    callGasLimit: 100n,
    verificationGasLimit: 200n,
    preVerificationGas: 50n,
    maxFeePerGas: 3n,
  };

  test.each([
    { version: '0.6' as const, units: 750n },
    { version: '0.7' as const, units: 380n },
    { version: '0.8' as const, units: 380n },
    { version: '0.9' as const, units: 380n },
  ])('on $version is $units gas at maxFeePerGas', ({ version, units }) => {
    expect(requiredGas(op, version, gas)).toBe(units);
    expect(maxCost(op, version, gas)).toBe(units * 3n);
  });
});

describe('keccak', () => {
  test('is ethers’ for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), (bytes) => {
        expect(bytesToHex(keccak256(bytes))).toBe(ethersKeccak(bytes));
      }),
    );
  });

  test('answers fresh bytes each time', () => {
    const first = keccak256(new Uint8Array([1]));
    const copy = bytesToHex(first);
    keccak256(new Uint8Array([2]));
    expect(bytesToHex(first)).toBe(copy);
  });

  test('personalDigest is what wallets sign for 32 bytes, and refuses other lengths', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (hash) => {
        expect(bytesToHex(personalDigest(hash))).toBe(hashMessage(hash));
      }),
    );
    expect(() => personalDigest(new Uint8Array(31))).toThrow(RangeError);
  });
});
