import { expect, test } from '@jest/globals';
import { getAddress } from 'ethers';
import fc from 'fast-check';
import { fastKeccak } from '../../../core/crypto/keccak.js';
import { hasWrongChecksum, parseAddress } from '../../../core/units/address.js';

const address = fc
  .uint8Array({ minLength: 20, maxLength: 20 })
  .map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`);

test('the checksum of an address is that of ethers, by both implementations of the hash', async () => {
  const isThatOfEthers = (text: string) => {
    expect(parseAddress(text)).toBe(getAddress(text));
    expect(hasWrongChecksum(getAddress(text))).toBe(false);
  };
  fc.assert(fc.property(address, isThatOfEthers), { numRuns: 50 });
  await fastKeccak;
  fc.assert(fc.property(address, isThatOfEthers));
});

test('one letter in the wrong case is a wrong checksum; one case alone claims none', () => {
  fc.assert(
    fc.property(address, fc.nat(39), (text, at) => {
      const right = getAddress(text);
      const letter = right.charAt(2 + at);
      const other = letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();
      const wrong = right.slice(0, 2 + at) + other + right.slice(3 + at);
      const isMixed =
        wrong.slice(2) !== wrong.slice(2).toLowerCase() && wrong.slice(2) !== wrong.slice(2).toUpperCase();
      expect(hasWrongChecksum(wrong)).toBe(wrong !== right && isMixed);
      expect(hasWrongChecksum(text)).toBe(false);
    }),
  );
});
