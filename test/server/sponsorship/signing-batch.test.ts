import { describe, expect, test } from '@jest/globals';
import { noMetrics } from '../../../core/metrics.js';
import type { Signer } from '../../../core/paymaster/signer.js';
import { createInstruments } from '../../../server/ops/instruments.js';
import { createSigningBatch } from '../../../server/decision/signing-batch.js';
import { addressOf } from '../../build/configs.js';

const instruments = createInstruments(noMetrics);

/** Signs by repeating the first byte of the digest, and records each batch. */
function aSigner(): Signer & { readonly batches: number[][] } {
  const batches: number[][] = [];
  return {
    address: addressOf(1),
    implementation: 'test',
    batches,
    sign(digests) {
      batches.push(digests.map((digest) => digest[0] ?? 0));
      return digests.map((digest) => new Uint8Array(65).fill(digest[0] ?? 0));
    },
  };
}

const digest = (n: number): Uint8Array => new Uint8Array(32).fill(n);

describe('A signing batch', () => {
  test('signs all digests of a turn of the event loop together, each answered with its own signature', async () => {
    const signer = aSigner();
    const batch = createSigningBatch({ instruments });
    const signatures = await Promise.all([1, 2, 3].map((n) => batch.sign(signer, digest(n))));
    expect(signatures.map((signature) => signature[0])).toEqual([1, 2, 3]);
    expect(signer.batches).toEqual([[1, 2, 3]]);
  });

  test('signs at most a bounded number per turn, and the rest in the next, in order', async () => {
    const signer = aSigner();
    const batch = createSigningBatch({ instruments, maxPerTurn: 2 });
    await Promise.all([1, 2, 3, 4, 5].map((n) => batch.sign(signer, digest(n))));
    expect(signer.batches).toEqual([[1, 2], [3, 4], [5]]);
  });

  test('keeps signers apart', async () => {
    const [a, b] = [aSigner(), aSigner()];
    const batch = createSigningBatch({ instruments });
    await Promise.all([batch.sign(a, digest(1)), batch.sign(b, digest(2)), batch.sign(a, digest(3))]);
    expect([a.batches, b.batches]).toEqual([[[1, 3]], [[2]]]);
  });

  test('awaits a signer that answers later', async () => {
    const remote: Signer = {
      address: addressOf(2),
      implementation: 'remote',
      sign: (digests) => Promise.resolve(digests.map((each) => new Uint8Array(65).fill(each[0] ?? 0))),
    };
    expect((await createSigningBatch({ instruments }).sign(remote, digest(9)))[0]).toBe(9);
  });

  test.each([
    [
      'throws',
      () => {
        throw new Error('no key');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no key'))],
    ['answers too few', () => []],
  ])('a signer that %s fails its own digests and no others', async (_how, sign) => {
    const broken: Signer = { address: addressOf(3), implementation: 'broken', sign };
    const signer = aSigner();
    const batch = createSigningBatch({ instruments });
    const [failed, signed] = await Promise.allSettled([
      batch.sign(broken, digest(1)),
      batch.sign(signer, digest(2)),
    ]);
    expect(failed.status).toBe('rejected');
    expect(signed.status).toBe('fulfilled');
    // The next turn is not affected.
    expect((await batch.sign(signer, digest(4)))[0]).toBe(4);
  });
});
