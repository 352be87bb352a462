import { expect, test } from '@jest/globals';
import type { Hex } from '../../core/units/hex.js';
import { parseUserOperation } from '../../core/userop/parse.js';
import { boundedPreVerificationGas, preVerificationGas } from '../../core/userop/pre-verification-gas.js';
import { anOperation } from '../build/operations.js';

const withSignature = (signature: Hex) => parseUserOperation(anOperation({ signature }), '0.7');
const ofBytes = (count: number): Hex => `0x${'ff'.repeat(count)}`;

test.each([0, 65, 2048])('a signature of %i bytes counts whole', (bytes) => {
  const op = withSignature(ofBytes(bytes));
  expect(boundedPreVerificationGas(op, '0x')).toBe(preVerificationGas(op, '0x'));
});

test.each([2049, 131_072])('of a signature of %i bytes 2 KiB count in a cap', (bytes) => {
  const op = withSignature(ofBytes(bytes));
  expect(boundedPreVerificationGas(op, '0x')).toBe(preVerificationGas(withSignature(ofBytes(2048)), '0x'));
  expect(preVerificationGas(op, '0x')).toBeGreaterThan(boundedPreVerificationGas(op, '0x'));
});
