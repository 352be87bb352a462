import { describe, expect, test } from '@jest/globals';
import { SigningKey } from 'ethers';
import type { LayoutId, TokenCodec } from '../../../core/paymaster/layout.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import * as singleton from '../../../core/paymaster/singleton/token.js';
import * as vendor110 from '../../../core/paymaster/vendor-1.1.0/token.js';
import * as vendor2x from '../../../core/paymaster/vendor-2.x/token.js';
import { parseAddress } from '../../../core/units/address.js';
import { bytesToHex, hexToBytes } from '../../../core/units/hex.js';
import { gasOf, operationOf, readVectors, tokenTermsOf, tokenVectors, type Vector } from './vectors.js';
import { personalDigest } from '../../build/signing.js';

// The vectors' gas figures and oracle differ from those that the layouts choose; all else is the codec in use.
function codecOf(layout: LayoutId, vector: Vector): TokenCodec {
  if (layout === 'vendor-1.1.0')
    return vendor110.tokenCodec(parseAddress(String(vector.params['oracleAggregator'])));
  if (layout === 'vendor-2.x') return vendor2x.tokenCodec(gasOf(vector));
  return singleton.tokenCodec(vector.entryPointVersion, {
    gas: gasOf(vector),
    postOpGas: BigInt(String(vector.params['postOpGas'])),
    assumedGas: BigInt(String(vector.params['paymasterValidationGasLimit'])),
    chargesFine: vector.entryPointVersion === '0.7',
    minVerificationGasLimit: 0n,
    validationGas: 0n,
  });
}

const cases = tokenVectors().map(({ layout, vector }, index) => ({
  name: `${layout} #${index}`,
  layout,
  vector,
  codec: codecOf(layout, vector),
}));

test('there is a vector for every layout of a third party with a token mode', () => {
  const withTokens = Object.values(layouts).filter(
    ({ id, token }) => token !== undefined && id !== 'hybrid-0.9',
  );
  expect(new Set(cases.map(({ layout }) => layout))).toEqual(new Set(withTokens.map(({ id }) => id)));
});

describe('what the deployed contracts computed and accepted', () => {
  test.each(cases)('$name: our hash is the contract’s getHash', ({ vector, codec }) => {
    expect(bytesToHex(codec.hash(operationOf(vector), tokenTermsOf(vector)))).toBe(vector.hash);
  });

  test.each(cases)('$name: our bytes are the bytes that were accepted', ({ vector, codec }) => {
    const { signature } = codec.decode(vector.paymasterAndData);
    const encoded = codec.encode(operationOf(vector), tokenTermsOf(vector), hexToBytes(signature));
    expect(encoded).toBe(vector.paymasterAndData.toLowerCase());
  });

  test.each(cases)(
    '$name: the signature is the signer’s over the digest of the hash',
    ({ vector, codec }) => {
      const key = new SigningKey(readVectors('vendor-2x').signerKey);
      const digest = personalDigest(hexToBytes(vector.hash));
      expect(codec.decode(vector.paymasterAndData).signature).toBe(key.sign(digest).serialized);
    },
  );

  test.each(cases)('$name: decoding gives back the terms', ({ vector, codec }) => {
    const terms = tokenTermsOf(vector);
    const { treasury, recipient, preFund, constantFee } = terms.options;
    expect(codec.decode(vector.paymasterAndData)).toMatchObject({
      paymaster: terms.paymaster.toLowerCase(),
      token: terms.token,
      exchangeRate: terms.exchangeRate,
      validUntil: terms.validUntil,
      validAfter: terms.validAfter,
      ...(treasury === undefined ? {} : { treasury: treasury.toLowerCase() }),
      ...(recipient === undefined ? {} : { recipient: recipient.toLowerCase() }),
      ...(preFund === undefined ? {} : { preFund }),
      ...(constantFee === undefined ? {} : { constantFee }),
      ...(vector.params['priceMarkup'] === undefined ? {} : { priceMarkup: terms.priceMarkup }),
      ...(vector.entryPointVersion === '0.6' ? {} : { paymasterGas: gasOf(vector) }),
    });
  });
});
