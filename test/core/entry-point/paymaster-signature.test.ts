import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { id } from 'ethers';
import {
  hashedPaymasterAndData,
  joinPaymasterSignature,
  paymasterSignatureMagic,
  splitPaymasterSignature,
} from '../../../core/entry-point/paymaster-signature.js';
import type { Hex } from '../../../core/units/hex.js';
import { anyBytes } from '../paymaster/operations.js';

const magic = paymasterSignatureMagic.slice(2);
const head: Hex = `0x${'11'.repeat(52)}`;

test('the magic is the hash of its name', () => {
  expect(paymasterSignatureMagic).toBe(id('PaymasterSignature').slice(0, 18));
});

describe('a signature at the end of paymasterAndData', () => {
  test('that was added is found again, and is not hashed', () => {
    fc.assert(
      fc.property(anyBytes(52, 200), anyBytes(1, 300), (data, signature) => {
        const joined = joinPaymasterSignature(data, signature);
        expect(splitPaymasterSignature(joined)).toEqual({ kind: 'signature', data, signature });
        expect(hashedPaymasterAndData(joined)).toBe(`${data}${magic}`);
      }),
    );
  });

  test.each<{ name: string; tail: string }>([
    { name: 'without the magic', tail: `${'ab'.repeat(65)}0041` },
    { name: 'with the magic and a length of 0', tail: `${'ab'.repeat(65)}0000${magic}` },
    { name: 'with the magic before the end', tail: `${'ab'.repeat(65)}0041${magic}00` },
  ])('$name is not one: all bytes are hashed', ({ tail }) => {
    expect(splitPaymasterSignature(`${head}${tail}`)).toEqual({ kind: 'none' });
    expect(hashedPaymasterAndData(`${head}${tail}`)).toBe(`${head}${tail}`);
  });

  test('may reach back to the head, and not further', () => {
    const signature = 'ab'.repeat(5);
    expect(splitPaymasterSignature(`${head}${signature}0005${magic}`)).toEqual({
      kind: 'signature',
      data: head,
      signature: `0x${signature}`,
    });
    expect(splitPaymasterSignature(`${head}${signature}0006${magic}`)).toEqual({ kind: 'tooLong' });
    expect(hashedPaymasterAndData(`${head}${signature}ffff${magic}`)).toBeUndefined();
  });

  test('is not looked for in fewer than 62 bytes', () => {
    const short: Hex = `0x${'11'.repeat(51)}0001${magic}`;
    expect(splitPaymasterSignature(short)).toEqual({ kind: 'none' });
  });

  test.each([0, 65_536])('cannot be added with %s bytes, which the length cannot say', (size) => {
    expect(() => joinPaymasterSignature(head, `0x${'ab'.repeat(size)}`)).toThrow(RangeError);
  });

  test('of the greatest length is found again', () => {
    const signature: Hex = `0x${'ab'.repeat(65_535)}`;
    expect(splitPaymasterSignature(joinPaymasterSignature(head, signature))).toEqual({
      kind: 'signature',
      data: head,
      signature,
    });
  });
});
