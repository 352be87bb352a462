import { describe, expect, test } from '@jest/globals';
import { SigningKey, hashMessage } from 'ethers';
import type { SponsorshipCodec } from '../../../core/paymaster/layout.js';
import type { PaymasterGas } from '../../../core/entry-point/user-operation.js';
import * as singleton from '../../../core/paymaster/singleton/sponsorship.js';
import { sponsorship as vendor110 } from '../../../core/paymaster/vendor-1.1.0/sponsorship.js';
import * as vendor2x from '../../../core/paymaster/vendor-2.x/sponsorship.js';
import * as verifying from '../../../core/paymaster/verifying-0.7/sponsorship.js';
import { bytesToHex, hexToBytes } from '../../../core/units/hex.js';
import { gasOf, operationOf, readVectors, sponsoredVectors, termsOf } from './vectors.js';
import { personalDigest } from '../../build/signing.js';

// The vectors' paymaster gas limits differ from those that the layouts choose; all else is the codec in use.
const codecs: Readonly<Record<string, (gas: PaymasterGas) => SponsorshipCodec>> = {
  'vendor-1.1.0': () => vendor110,
  'vendor-2.x': (gas) => vendor2x.sponsorshipCodec(() => gas, 0n),
  'singleton-0.6': (gas) => singleton.sponsorshipCodec('0.6', gas, gas),
  'singleton-0.7': (gas) => singleton.sponsorshipCodec('0.7', gas, gas),
  'singleton-0.8': (gas) => singleton.sponsorshipCodec('0.8', gas, gas),
  'verifying-0.7': (gas) => verifying.sponsorshipCodec('0.7', gas, gas),
};

const cases = sponsoredVectors().map(({ layout, vector }, index) => ({
  name: `${layout} #${index}`,
  layout,
  vector,
  codec: codecs[layout]!(gasOf(vector)),
}));

test('there is a vector for every layout of a third party with a view of its hash', () => {
  expect(new Set(cases.map(({ layout }) => layout))).toEqual(new Set(Object.keys(codecs)));
});

describe('what the deployed contracts computed and accepted', () => {
  test.each(cases)('$name: our hash is the contract’s getHash', ({ vector, codec }) => {
    expect(bytesToHex(codec.hash(operationOf(vector), termsOf(vector)))).toBe(vector.hash);
  });

  test.each(cases)('$name: our bytes are the bytes that were accepted', ({ vector, codec }) => {
    const { signature } = codec.decode(vector.paymasterAndData);
    const encoded = codec.encode(operationOf(vector), termsOf(vector), hexToBytes(signature));
    expect(encoded).toBe(vector.paymasterAndData.toLowerCase());
  });

  test.each(cases)(
    '$name: the signature is the signer’s over the EIP-191 digest of the hash',
    ({ vector, codec }) => {
      const key = new SigningKey(readVectors('vendor-2x').signerKey);
      const digest = personalDigest(hexToBytes(vector.hash));
      expect(bytesToHex(digest)).toBe(hashMessage(hexToBytes(vector.hash)));
      expect(codec.decode(vector.paymasterAndData).signature).toBe(key.sign(digest).serialized);
    },
  );

  test.each(cases)('$name: decoding gives back the terms', ({ vector, codec }) => {
    const terms = termsOf(vector);
    expect(codec.decode(vector.paymasterAndData)).toMatchObject({
      paymaster: terms.paymaster.toLowerCase(),
      validUntil: terms.validUntil,
      validAfter: terms.validAfter,
      ...(vector.params['paymasterId'] === undefined ? {} : { fundingAddress: terms.fundingAddress }),
      ...(vector.params['priceMarkup'] === undefined ? {} : { priceMarkup: terms.options.priceMarkup }),
      ...(vector.entryPointVersion === '0.6' ? {} : { paymasterGas: gasOf(vector) }),
    });
  });
});
