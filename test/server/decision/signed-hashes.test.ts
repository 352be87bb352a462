import { expect, test } from '@jest/globals';
import { userOpHash } from '../../../core/entry-point/user-op-hash.js';
import { signatureToTail } from '../../../core/paymaster/tail.js';
import { parseAddress } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import { digestsBy } from '../../../core/usage/operation-hashes.js';
import type { Promised } from '../../../server/decision/reservation.js';
import { createSignedHashes } from '../../../server/decision/sign/signed-hashes.js';
import { aDigest, aSignedPromise, chainId } from '../../conformance/usage-requests.js';
import { anExampleOperation } from '../../core/paymaster/operations.js';

const entryPoint = parseAddress('0x433709009B8330FDa32311DF1C2AFA402eD8D009');
const signed: Hex = `0x${'11'.repeat(120)}${'07'.repeat(65)}`;

function promised(
  change: { readonly nonce?: bigint; readonly digest?: number; readonly callData?: Hex } = {},
) {
  const { nonce = 0n, digest = 1, callData = '0x' } = change;
  return {
    paymaster: { chainId, paymasterId: 'pm-1' },
    profile: {
      entryPoint,
      entryPointKey: entryPoint.toLowerCase(),
      entryPointVersion: '0.9',
      readsTail: true,
    },
    op: { ...anExampleOperation, nonce, callData },
    promise: aSignedPromise({ digest: aDigest(digest) }),
  } as unknown as Promised;
}
const hashOf = ({ op }: Promised, data: Hex): Hex =>
  userOpHash(op, data, { version: '0.9', entryPoint, chainId })!;

test('the next promise of a nonce carries the hashes of the one before, in both of its forms', () => {
  const hashes = createSignedHashes();
  expect(hashes.of(promised()).hashes).toBeUndefined();
  hashes.of(promised()).note(signed);
  const next = hashes.of(promised({ digest: 2 })).hashes!;
  for (const form of [signed, signatureToTail(signed)])
    expect(digestsBy(hashOf(promised(), form), [{ hashes: next }])).toEqual([aDigest(1)]);
  // Padded, it is another hash.
  expect(digestsBy(hashOf(promised(), `${signed}00`), [{ hashes: next }])).toEqual([]);
});

test('the promise of another nonce carries none, and a recorded one is not recorded again', () => {
  const hashes = createSignedHashes();
  hashes.of(promised()).note(signed);
  expect(hashes.of(promised({ nonce: 1n })).hashes).toBeUndefined();
  hashes.of(promised()).recorded();
  expect(hashes.of(promised()).hashes).toBeUndefined();
});

test('what is signed while a promise is recorded waits for the next one', () => {
  const hashes = createSignedHashes();
  hashes.of(promised()).note(signed);
  const recording = hashes.of(promised({ digest: 2 }));
  hashes.of(promised({ digest: 3 })).note(signed);
  recording.recorded();
  const left = hashes.of(promised({ digest: 4 })).hashes!;
  expect(digestsBy(hashOf(promised(), signed), [{ hashes: left }])).toEqual([aDigest(3)]);
});

test('the last five hundred nonces are remembered, at most a thousand in all, and eight signatures of each', () => {
  const hashes = createSignedHashes();
  const last = 1_000n;
  for (let nonce = 0n; nonce <= last; nonce++) hashes.of(promised({ nonce })).note(signed);
  expect(hashes.of(promised()).hashes).toBeUndefined();
  for (let nonce = last - 499n; nonce <= last; nonce++)
    expect(hashes.of(promised({ nonce })).hashes).toBeDefined();
  for (let digest = 0; digest < 20; digest++) hashes.of(promised({ digest })).note(signed);
  expect(hashes.of(promised()).hashes).toHaveLength(2 + 8 * 2 * 64);
});

test('the hash of a large operation is the same', () => {
  const hashes = createSignedHashes();
  const large = promised({ callData: `0x${'ab'.repeat(20_000)}` });
  hashes.of(large).note(signed);
  expect(digestsBy(hashOf(large, signed), [{ hashes: hashes.of(large).hashes! }])).toEqual([aDigest(1)]);
});
