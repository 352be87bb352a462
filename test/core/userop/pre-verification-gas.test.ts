import { expect, test } from '@jest/globals';
import type { Hex } from '../../../core/units/hex.js';
import { parseUserOperation } from '../../../core/userop/parse.js';
import { boundedForCaps, preVerificationGas } from '../../../core/userop/pre-verification-gas.js';
import { anOperation } from '../../build/operations.js';

const withSignature = (signature: Hex) => parseUserOperation(anOperation({ signature }), '0.7');
const ofBytes = (count: number): Hex => `0x${'ff'.repeat(count)}`;

test.each([0, 65, 2048])('a signature of %i bytes counts whole', (bytes) => {
  const op = withSignature(ofBytes(bytes));
  expect(preVerificationGas(boundedForCaps(op), '0x')).toBe(preVerificationGas(op, '0x'));
});

test('an authorization does not count in a cap, which stays above what an operation with one needs', () => {
  const op = withSignature(ofBytes(65));
  const eip7702Auth = {
    address: op.sender,
    chainId: 1n,
    nonce: 0n,
    r: '0x01',
    s: '0x01',
    yParity: 0,
  } as const;
  const authorized = { ...op, eip7702Auth };
  const bounded = preVerificationGas(boundedForCaps(authorized), '0x');
  expect(bounded).toBe(preVerificationGas(op, '0x'));
  expect(2n * bounded).toBeGreaterThan(preVerificationGas(authorized, '0x'));
});

test.each([2049, 131_072])('of a signature of %i bytes 2 KiB count in a cap', (bytes) => {
  const op = withSignature(ofBytes(bytes));
  const bounded = preVerificationGas(boundedForCaps(op), '0x');
  expect(bounded).toBe(preVerificationGas(withSignature(ofBytes(2048)), '0x'));
  expect(preVerificationGas(op, '0x')).toBeGreaterThan(bounded);
});

test.each(['callData', 'signature', 'initCode', 'paymasterAndData'] as const)(
  'a word of %s counts more where the EntryPoint passes on the whole operation',
  (field) => {
    const costOfWord = (selector: Hex) => {
      const of = (words: number) => {
        const more = words === 0 ? '' : ofBytes(32).slice(2);
        const op = parseUserOperation(anOperation({ callData: selector, initCode: ofBytes(64) }), '0.6');
        const changed = field === 'paymasterAndData' ? op : { ...op, [field]: `${op[field]}${more}` as Hex };
        return preVerificationGas(changed, field === 'paymasterAndData' ? `0x${more}` : '0x');
      };
      return of(1) - of(0);
    };
    expect(costOfWord('0x8dd7712f') - costOfWord('0xb61d27f6')).toBe(80n);
  },
);
