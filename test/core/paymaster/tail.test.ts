import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  hashedPaymasterAndData,
  paymasterSignatureMagic,
} from '../../../core/entry-point/paymaster-signature.js';
import { toDigest } from '../../../core/paymaster/digest.js';
import { layoutIds } from '../../../core/paymaster/layout.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import { recognise } from '../../../core/paymaster/recognise.js';
import { stubSignature } from '../../../core/paymaster/signature.js';
import { signatureFromTail, signatureToTail } from '../../../core/paymaster/tail.js';
import type { Hex } from '../../../core/units/hex.js';
import {
  anExampleOperation,
  anyOperation,
  anySignature,
  anyTerms,
  anyTokenTerms,
  exampleTerms,
  exampleTokenTerms,
} from './operations.js';

const { openZeppelin } = exampleTerms.options;
const readers = layoutIds.filter((id) =>
  layouts[id].readsTail({ openZeppelin: { ...openZeppelin!, readsPaymasterSignature: true } }),
);

test('only contracts for EntryPoint 0.9 read a tail, OpenZeppelin’s only where the profile says so', () => {
  expect(readers).toEqual(['verifying-0.9', 'hybrid-0.9', 'openzeppelin-0.9']);
  expect(layouts['openzeppelin-0.9'].readsTail({ openZeppelin: openZeppelin! })).toBe(false);
  expect(layouts['openzeppelin-0.9'].readsTail({})).toBe(false);
});

describe.each(readers)('a sponsorship of %s with its signature in the tail', (id) => {
  const { sponsorship } = layouts[id];
  const modes = [layouts[id]];

  test('has the same terms and the same promise as with an ordinary signature', () => {
    fc.assert(
      fc.property(anyOperation, anyTerms, anySignature, (op, terms, signature) => {
        const ordinary = sponsorship.encode(op, terms, signature);
        const paymasterAndData = signatureToTail(ordinary);
        expect(signatureFromTail(paymasterAndData)).toBe(ordinary);
        expect(sponsorship.decode(paymasterAndData)).toEqual(sponsorship.decode(ordinary));
        expect(recognise(modes, { ...op, paymasterAndData }, terms.chainId)).toMatchObject([
          { mode: 'SPONSORED', digest: toDigest(sponsorship.hash(op, terms)) },
        ]);
      }),
    );
  });

  test('gives an operation hash that does not depend on the signature', () => {
    const withSignature = (signature: Uint8Array) =>
      hashedPaymasterAndData(
        signatureToTail(sponsorship.encode(anExampleOperation, exampleTerms, signature)),
      );
    expect(withSignature(stubSignature())).toBe(withSignature(new Uint8Array(65).fill(1)));
  });

  test('is recognised whatever a bundler writes behind the signed bytes', () => {
    const signature = stubSignature();
    const ordinary = sponsorship.encode(anExampleOperation, exampleTerms, signature);
    const unsigned = ordinary.slice(0, -2 * signature.length);
    const promised = toDigest(sponsorship.hash(anExampleOperation, exampleTerms));
    const magic = paymasterSignatureMagic.slice(2);
    for (const behind of [
      '',
      '00'.repeat(65),
      ...['0000', '0001', '0040', '0041', '0042', 'ffff'].flatMap((length) => [
        `${length}${magic}`,
        `${'11'.repeat(65)}${length}${magic}`,
        `${'22'.repeat(65)}${'11'.repeat(65)}${length}${magic}`,
      ]),
      `${'11'.repeat(65)}0041${magic}0041${magic}`,
    ])
      for (const signed of [ordinary, unsigned]) {
        const paymasterAndData = `${signed}${behind}` as Hex;
        const readings = recognise(modes, { ...anExampleOperation, paymasterAndData }, exampleTerms.chainId);
        expect([behind, readings]).toMatchObject([behind, [{ digest: promised }]]);
      }
  });

  test('is not decoded when the tail has another length', () => {
    const data = signatureToTail(sponsorship.encode(anExampleOperation, exampleTerms, stubSignature()));
    const magicAt = data.length - 16;
    for (const length of ['0000', '0040', '0042', 'ffff']) {
      const changed = `${data.slice(0, magicAt - 4)}${length}${data.slice(magicAt)}` as Hex;
      expect(() => sponsorship.decode(changed)).toThrow(RangeError);
    }
  });
});

const inTokens = readers.filter((id) => layouts[id].token !== undefined);

test('one layout takes payments in tokens with the signature in the tail', () => {
  expect(inTokens).toEqual(['hybrid-0.9']);
});

test.each(inTokens)('a token payment of %s has the same terms and the same promise in both forms', (id) => {
  const { token } = layouts[id];
  fc.assert(
    fc.property(anyOperation, anyTokenTerms, anySignature, (op, terms, signature) => {
      const ordinary = token!.encode(op, terms, signature);
      const paymasterAndData = signatureToTail(ordinary);
      const decoded = token!.decode(paymasterAndData);
      expect(decoded).toEqual(token!.decode(ordinary));
      // A finalize puts the data of its commit together again from what it reads in them.
      const { exchangeRate, validUntil, validAfter } = decoded;
      expect(token!.encode(op, { ...terms, exchangeRate, validUntil, validAfter }, signature)).toBe(ordinary);
      expect(recognise([layouts[id]], { ...op, paymasterAndData }, terms.chainId)).toMatchObject([
        { mode: 'ERC20', digest: toDigest(token!.hash(op, terms)) },
      ]);
    }),
  );
});

test('a demand for payment in validation is signed, and is read from both forms', () => {
  const { token } = layouts['hybrid-0.9'];
  const demanded = { ...exampleTokenTerms, inAdvance: true as const };
  const data = token!.encode(anExampleOperation, demanded, stubSignature());
  expect(token!.decode(signatureToTail(data))).toMatchObject({ inAdvance: true });
  expect(token!.hash(anExampleOperation, demanded)).not.toEqual(
    token!.hash(anExampleOperation, exampleTokenTerms),
  );
});
