import { describe, expect, test } from '@jest/globals';
import { SigningKey, computeAddress, recoverAddress } from 'ethers';
import fc from 'fast-check';
import type { Signer } from '../../core/paymaster/signer.js';
import { bytesToHex } from '../../core/units/hex.js';

/** Guarantees of every implementation of the Signer port. `create` makes one for a private key. */
export function signerConformance(
  name: string,
  create: (key: Uint8Array) => Promise<{ readonly signer: Signer; readonly stop: () => Promise<void> }>,
): void {
  describe(`Signer: ${name}`, () => {
    const anyKey = fc
      .uint8Array({ minLength: 32, maxLength: 32 })
      .filter((key) => key.some((byte) => byte !== 0) && (key[0] ?? 255) < 255);
    const anyDigest = fc.uint8Array({ minLength: 32, maxLength: 32 });

    test('signs the very bytes that ethers signs, which recover to its address', async () => {
      await fc.assert(
        fc.asyncProperty(anyKey, anyDigest, async (key, digest) => {
          const { signer, stop } = await create(key);
          const [signature] = await signer.sign([digest]);
          await stop();
          const reference = new SigningKey(key);
          expect(signer.address).toBe(computeAddress(reference));
          expect(bytesToHex(signature ?? new Uint8Array())).toBe(reference.sign(digest).serialized);
          expect(recoverAddress(digest, bytesToHex(signature ?? new Uint8Array()))).toBe(signer.address);
        }),
        { numRuns: 64 },
      );
    });

    test('answers a batch in the order of its digests', async () => {
      const { signer, stop } = await create(Buffer.alloc(32, 7));
      const digests = Array.from({ length: 33 }, (_, index) => Buffer.alloc(32, index + 1));
      const together = await signer.sign(digests);
      const alone = await Promise.all(digests.map(async (digest) => (await signer.sign([digest]))[0]));
      await stop();
      expect(together.map(bytesToHex)).toEqual(alone.map((one) => bytesToHex(one ?? new Uint8Array())));
      expect(new Set(together.map(bytesToHex)).size).toBe(33);
    });

    test('keeps earlier signatures untouched by later ones', async () => {
      const { signer, stop } = await create(Buffer.alloc(32, 7));
      const [first] = await signer.sign([Buffer.alloc(32, 1)]);
      const copy = bytesToHex(first ?? new Uint8Array());
      await signer.sign([Buffer.alloc(32, 2)]);
      await stop();
      expect(bytesToHex(first ?? new Uint8Array())).toBe(copy);
    });

    test('makes 65 bytes with low s and v 27 or 28', async () => {
      const { signer, stop } = await create(Buffer.alloc(32, 9));
      const signatures = await signer.sign(Array.from({ length: 64 }, (_, index) => Buffer.alloc(32, index)));
      await stop();
      const halfOrder = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;
      for (const signature of signatures) {
        expect(signature).toHaveLength(65);
        expect(BigInt(bytesToHex(signature.subarray(32, 64)))).toBeLessThanOrEqual(halfOrder);
        expect([27, 28]).toContain(signature[64]);
      }
    });

    test('an empty batch gives no signatures', async () => {
      const { signer, stop } = await create(Buffer.alloc(32, 9));
      expect(await signer.sign([])).toEqual([]);
      await stop();
    });

    test('does not carry its key', async () => {
      const { signer, stop } = await create(Buffer.alloc(32, 0xab));
      await stop();
      expect(JSON.stringify(signer)).not.toContain('ab'.repeat(8));
      expect(Object.values(signer).some((value) => value instanceof Uint8Array)).toBe(false);
    });
  });
}
