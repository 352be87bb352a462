import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { MinedUserOperation } from '../../../core/entry-point/handle-ops.js';
import { toDigest } from '../../../core/paymaster/digest.js';
import { layoutIds } from '../../../core/paymaster/layout.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import { recognise, recogniseAny, type ContractModes } from '../../../core/paymaster/recognise.js';
import { toAddressKey } from '../../../core/units/address.js';
import { hexToBytes, type Hex } from '../../../core/units/hex.js';
import { runs } from '../../support/property.js';
import {
  anExampleOperation,
  anyBytes,
  anyOperation,
  anySignature,
  anyTerms,
  anyTokenTerms,
  exampleTerms,
  exampleTokenTerms,
} from './operations.js';
import { operationOf, sponsoredVectors, tokenVectors } from './vectors.js';

const tokenLayoutIds = layoutIds.filter((id) => layouts[id].token !== undefined);
const signature = new Uint8Array(65).fill(7);

describe.each(layoutIds)('sponsorship of %s', (id) => {
  const { sponsorship } = layouts[id];
  const modes = [{ sponsorship }];

  test('is recognised by the signed data, for any operation and terms', () => {
    fc.assert(
      fc.property(anyOperation, anyTerms, anySignature, (op, terms, signed) => {
        const paymasterAndData = sponsorship.encode(op, terms, signed);
        const readings = recognise(modes, { ...op, paymasterAndData }, terms.chainId);
        expect(readings).toMatchObject([
          { mode: 'SPONSORED', digest: toDigest(sponsorship.hash(op, terms)) },
        ]);
      }),
    );
  });

  test('is not recognised once a byte before the signature, or a field of the operation, is another one', () => {
    const digest = toDigest(sponsorship.hash(anExampleOperation, exampleTerms));
    const data = sponsorship.encode(anExampleOperation, exampleTerms, signature);
    const signatureAt = data.indexOf('07'.repeat(65)) / 2 - 1;
    const digestOfData = (paymasterAndData: Hex, change = {}, chainId = exampleTerms.chainId) =>
      readingDigests(recognise(modes, { ...anExampleOperation, ...change, paymasterAndData }, chainId));
    expect(digestOfData(data)).toEqual([digest]);
    // The bytes where the data of 1.1.0 say where the signature is are of no weight.
    const signed = id === 'vendor-1.1.0' ? 116 : signatureAt;
    for (let at = 0; at < signed; at++) {
      if (isPadding(data, at)) continue;
      expect([at, digestOfData(flipped(data, at))]).not.toEqual([at, [digest]]);
    }
    const { callGasLimit, nonce } = anExampleOperation;
    expect(digestOfData(data, { callGasLimit: callGasLimit + 1n })).not.toEqual([digest]);
    expect(digestOfData(data, { nonce: nonce + 1n })).not.toEqual([digest]);
    expect(digestOfData(data, { callData: '0x01' })).not.toEqual([digest]);
    expect(digestOfData(data, {}, exampleTerms.chainId + 1)).not.toEqual([digest]);
  });

  test('is recognised with another signature and with bytes behind it', () => {
    const data = sponsorship.encode(anExampleOperation, exampleTerms, signature);
    // Contracts of the layout vendor 2.x refuse data of another length.
    const more = id === 'vendor-2.x' ? '' : '00ff';
    const padded: Hex = `${data.replace('07'.repeat(65), '09'.repeat(65)) as Hex}${more}`;
    expect(
      readingDigests(
        recognise(modes, { ...anExampleOperation, paymasterAndData: padded }, exampleTerms.chainId),
      ),
    ).toEqual([toDigest(sponsorship.hash(anExampleOperation, exampleTerms))]);
  });

  test('is nothing in bytes that are cut off', () => {
    for (const paymasterAndData of ['0x', `0x${'11'.repeat(52)}`] as const)
      expect(recognise(modes, { ...anExampleOperation, paymasterAndData }, 1)).toEqual([]);
  });
});

describe.each(tokenLayoutIds)('token payment of %s', (id) => {
  const token = layouts[id].token!;
  const modes = [{ token }];

  test('is recognised by the signed data, for any operation and terms', () => {
    fc.assert(
      fc.property(anyOperation, anyTokenTerms, anySignature, (op, terms, signed) => {
        const paymasterAndData = token.encode(op, terms, signed);
        expect(recognise(modes, { ...op, paymasterAndData }, terms.chainId)).toMatchObject([
          { mode: 'ERC20', digest: toDigest(token.hash(op, terms)) },
        ]);
      }),
    );
  });

  test('is not recognised once a byte before the signature is another one', () => {
    const digest = toDigest(token.hash(anExampleOperation, exampleTokenTerms));
    const data = token.encode(anExampleOperation, exampleTokenTerms, signature);
    const signatureAt = data.indexOf('07'.repeat(65)) / 2 - 1;
    for (let at = 0; at < signatureAt; at++) {
      if (isPadding(data, at)) continue;
      const op = { ...anExampleOperation, paymasterAndData: flipped(data, at) };
      expect([at, readingDigests(recognise(modes, op, exampleTokenTerms.chainId))]).not.toEqual([
        at,
        [digest],
      ]);
    }
  });

  test('is told apart from a sponsorship at the same address', () => {
    const { sponsorship } = layouts[id];
    const both = [{ sponsorship, token }];
    const read = (paymasterAndData: Hex) =>
      recognise(both, { ...anExampleOperation, paymasterAndData }, exampleTerms.chainId);
    expect(read(token.encode(anExampleOperation, exampleTokenTerms, signature))).toMatchObject([
      { mode: 'ERC20' },
    ]);
    expect(read(sponsorship.encode(anExampleOperation, exampleTerms, signature))).toMatchObject([
      { mode: 'SPONSORED' },
    ]);
  });
});

describe('data that the vendor takes from anybody', () => {
  const { token, sponsorship } = layouts['vendor-2.x'];
  const paymasterAndData: Hex = `0x${'11'.repeat(52)}01${'22'.repeat(20)}`;
  const read = (modes: readonly ContractModes[], data = paymasterAndData) =>
    recognise(modes, { ...anExampleOperation, paymasterAndData: data }, 1);

  test('are unsigned where the contract was seen to accept such data', () => {
    expect(read([{ token, acceptsUnsigned: true }])).toBe('unsigned');
    expect(read([{ token, acceptsUnsigned: true }], `${paymasterAndData}00`)).toEqual([]);
  });

  test.each([{}, { acceptsUnsigned: false }])('are nothing of a contract with $acceptsUnsigned', (fact) => {
    expect(read([{ token, ...fact }])).toEqual([]);
    expect(read([{ sponsorship, token, ...fact }])).toEqual([]);
  });
});

// Rule 17: recognising and decoding are the inverse of encoding, whatever the fields hold.
describe.each(layoutIds)('any terms of %s', (id) => {
  const { sponsorship, token, entryPointVersion } = layouts[id];
  const { chainId } = exampleTerms;
  /** First bytes that are modes or flags of some layout. */
  const anyWallet = fc
    .tuple(fc.oneof(fc.constantFrom('00', '01', '02', '03', '07'), fc.constant(undefined)), anyBytes(20, 20))
    .map(([first, bytes]) => toAddressKey(first === undefined ? bytes : `0x${first}${bytes.slice(4)}`));
  const anySponsorship = fc
    .tuple(anyTerms, anyWallet)
    .map(([terms, fundingAddress]) => ({ ...terms, chainId, fundingAddress }));
  const anyPayment = fc
    .tuple(anyTokenTerms, anyWallet)
    .map(([terms, paid]) => ({ ...terms, chainId, token: paid }));
  /** The contracts as profiles name them: one for both modes, also twice, and one for each mode. */
  const shared: readonly (readonly ContractModes[])[] = [true, false, undefined].flatMap(
    (acceptsUnsigned) => [
      [{ sponsorship, token, acceptsUnsigned }],
      [
        { sponsorship, token, acceptsUnsigned },
        { sponsorship, token, acceptsUnsigned },
      ],
    ],
  );
  const everyLayout = Object.values(layouts).filter((one) => one.entryPointVersion === entryPointVersion);

  test('of a sponsorship are read from its data, and no others', () => {
    fc.assert(
      fc.property(anyOperation, anySponsorship, anySignature, (op, terms, signed) => {
        const data = sponsorship.encode(op, terms, signed);
        const mined = { ...op, paymasterAndData: data };
        const decoded = sponsorship.decode(data);
        expect([decoded.validUntil, decoded.validAfter]).toEqual([terms.validUntil, terms.validAfter]);
        if (decoded.fundingAddress !== undefined) expect(decoded.fundingAddress).toBe(terms.fundingAddress);
        const want = { mode: 'SPONSORED', digest: toDigest(sponsorship.hash(op, terms)) };
        for (const modes of [...shared, [{ sponsorship }], [{ sponsorship, acceptsUnsigned: true }]])
          expect(readingsOf(modes, mined)).toEqual([want]);
        expect(recogniseAny(everyLayout, mined, chainId)).toContainEqual(expect.objectContaining(want));
      }),
      runs(200),
    );
  });

  if (token !== undefined)
    test('of a payment are read from its data, and no others', () => {
      fc.assert(
        fc.property(anyOperation, anyPayment, anySignature, (op, terms, signed) => {
          const data = token.encode(op, terms, signed);
          const mined = { ...op, paymasterAndData: data };
          const decoded = token.decode(data);
          expect([decoded.validUntil, decoded.validAfter, decoded.token]).toEqual([
            terms.validUntil,
            terms.validAfter,
            terms.token,
          ]);
          const want = { mode: 'ERC20', digest: toDigest(token.hash(op, terms)) };
          for (const modes of [...shared, [{ token }], [{ token, acceptsUnsigned: true }]])
            expect(readingsOf(modes, mined)).toEqual([want]);
          expect(recogniseAny(everyLayout, mined, chainId)).toContainEqual(expect.objectContaining(want));
        }),
        runs(200),
      );
    });

  /** Each reading once. */
  function readingsOf(modes: readonly ContractModes[], op: MinedUserOperation) {
    const readings = recognise(modes, op, chainId);
    if (readings === 'unsigned') return readings;
    const once = new Map(readings.map(({ mode, digest }) => [`${mode}/${digest}`, { mode, digest }]));
    return [...once.values()];
  }
});

test.each([...sponsoredVectors(), ...tokenVectors()])(
  'an operation that $vector.contract accepted is recognised by the hash that the contract computed',
  ({ layout, vector }) => {
    const op = { ...operationOf(vector), paymasterAndData: vector.paymasterAndData };
    const readings = readingDigests(recognise([layouts[layout]], op, vector.chainId));
    expect(readings).toContain(toDigest(hexToBytes(vector.hash)));
  },
);

function readingDigests(readings: ReturnType<typeof recognise>): readonly Hex[] | 'unsigned' {
  return readings === 'unsigned' ? readings : readings.map(({ digest }) => digest);
}

function flipped(data: Hex, at: number): Hex {
  const byte = Number.parseInt(data.slice(2 + 2 * at, 4 + 2 * at), 16) ^ 0x10;
  return `0x${data.slice(2, 2 + 2 * at)}${byte.toString(16).padStart(2, '0')}${data.slice(4 + 2 * at)}`;
}

/** Zero bytes in front of a value: contracts refuse another value there, so none is mined. */
function isPadding(data: Hex, at: number): boolean {
  return data.slice(2 + 2 * at, 4 + 2 * at) === '00';
}
