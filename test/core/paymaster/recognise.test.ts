import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { digestOf } from '../../../core/paymaster/digest.js';
import { layoutIds } from '../../../core/paymaster/layout.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import { recognise } from '../../../core/paymaster/recognise.js';
import { hexToBytes, type Hex } from '../../../core/units/hex.js';
import {
  anExampleOperation,
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
          { mode: 'SPONSORED', digest: digestOf(sponsorship.hash(op, terms)) },
        ]);
      }),
    );
  });

  test('is not recognised once a byte before the signature, or a field of the operation, is another one', () => {
    const digest = digestOf(sponsorship.hash(anExampleOperation, exampleTerms));
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
    const padded: Hex = `${data.replace('07'.repeat(65), '09'.repeat(65)) as Hex}00ff`;
    expect(
      readingDigests(
        recognise(modes, { ...anExampleOperation, paymasterAndData: padded }, exampleTerms.chainId),
      ),
    ).toEqual([digestOf(sponsorship.hash(anExampleOperation, exampleTerms))]);
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
          { mode: 'ERC20', digest: digestOf(token.hash(op, terms)) },
        ]);
      }),
    );
  });

  test('is not recognised once a byte before the signature is another one', () => {
    const digest = digestOf(token.hash(anExampleOperation, exampleTokenTerms));
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

test('data that the vendor takes from anybody are unsigned, and nobody has promised them', () => {
  const paymasterAndData: Hex = `0x${'11'.repeat(52)}01${'22'.repeat(20)}`;
  expect(
    recognise([{ token: layouts['vendor-2.x'].token }], { ...anExampleOperation, paymasterAndData }, 1),
  ).toBe('unsigned');
});

test.each([...sponsoredVectors(), ...tokenVectors()])(
  'an operation that $vector.contract accepted is recognised by the hash that the contract computed',
  ({ layout, vector }) => {
    const op = { ...operationOf(vector), paymasterAndData: vector.paymasterAndData };
    const readings = readingDigests(recognise([layouts[layout]], op, vector.chainId));
    expect(readings).toContain(digestOf(hexToBytes(vector.hash)));
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
