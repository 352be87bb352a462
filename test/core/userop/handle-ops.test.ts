import { describe, expect, test } from '@jest/globals';
import { toBeHex, zeroPadValue } from 'ethers';
import fc from 'fast-check';
import { toAddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import { findInHandleOps } from '../../../core/entry-point/handle-ops.js';
import { anExampleOperation, anyBytes, anyOperation } from '../paymaster/operations.js';
import { handleAggregatedOpsCall, handleOpsCall } from './bundles.js';

const stranger = toAddressKey(`0x${'be'.repeat(20)}`);

describe.each(['0.6', '0.7'] as const)('a bundle for EntryPoint %s', (version) => {
  test('gives back the operation of a sender and nonce as it was sent', () => {
    const anyBundle = fc.uniqueArray(fc.record({ op: anyOperation, data: anyBytes(0, 200) }), {
      minLength: 1,
      maxLength: 4,
      selector: ({ op }) => op.nonce,
    });
    fc.assert(
      fc.property(anyBundle, (ops) => {
        for (const { op, data } of ops) {
          const expected = { ...op, paymasterAndData: data };
          expect(findInHandleOps(handleOpsCall(version, ops), op)).toEqual(expected);
          expect(findInHandleOps(handleAggregatedOpsCall(version, [[], ops]), op)).toEqual(expected);
        }
      }),
      { numRuns: 30 },
    );
  });

  test('holds no other operation', () => {
    const input = handleOpsCall(version, [{ op: anExampleOperation, data: '0x' }]);
    expect(findInHandleOps(input, { ...anExampleOperation, nonce: 1n })).toBeUndefined();
    expect(findInHandleOps(input, { ...anExampleOperation, sender: stranger })).toBeUndefined();
  });

  test('that is cut off anywhere gives nothing, and never throws', () => {
    const input = handleOpsCall(version, [{ op: anExampleOperation, data: '0x1234' }]);
    for (let size = 2; size < input.length - 64; size += 32)
      expect(findInHandleOps(input.slice(0, size) as Hex, anExampleOperation)).toBeUndefined();
  });
});

test('another call, a call in capitals, and one of a size that no node relays', () => {
  const input = handleOpsCall('0.7', [{ op: anExampleOperation, data: '0x' }]);
  expect(findInHandleOps(`0xdeadbeef${input.slice(10)}`, anExampleOperation)).toBeUndefined();
  expect(findInHandleOps(`0x${input.slice(2).toUpperCase()}`, anExampleOperation)).toBeDefined();
  expect(findInHandleOps(`${input}${'00'.repeat(2 ** 21)}`, anExampleOperation)).toBeDefined();
});

test('offsets that lead to the same bytes again and again cost nothing', () => {
  const word = (value: number): string => zeroPadValue(toBeHex(value), 32).slice(2);
  // Claims 2^19 operations, all at the same place.
  const lying: Hex = `0x765e827f${word(64)}${word(0)}${word(2 ** 19)}${word(0).repeat(30_000)}`;
  expect(findInHandleOps(lying, anExampleOperation)).toBeUndefined();
});
