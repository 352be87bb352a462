import { describe, expect, test } from '@jest/globals';
import { SigningKey, computeAddress, keccak256, recoverAddress } from 'ethers';
import fc from 'fast-check';
import { requireSignature, signingItem, signOne, type Signer } from '../../core/paymaster/signer.js';
import { endsOf } from '../build/signing.js';
import { bytesToHex } from '../../core/units/hex.js';

/** Guarantees of every implementation of the Signer port. `create` makes one for a private key. */
export function signerConformance(
  name: string,
  create: (key: Uint8Array) => Promise<{ readonly signer: Signer; readonly stop: () => Promise<void> }>,
  /** False for a signer whose signatures differ each time. */
  isDeterministic = true,
): void {
  describe(`Signer: ${name}`, () => {
    const anyKey = fc
      .uint8Array({ minLength: 32, maxLength: 32 })
      .filter((key) => key.some((byte) => byte !== 0) && (key[0] ?? 255) < 255);
    const item = (byte: number) => signingItem(Buffer.alloc(62, byte));

    test('signs the keccak of the pre-image, with the very bytes of ethers where it is deterministic, which recover to its address', async () => {
      await fc.assert(
        fc.asyncProperty(anyKey, fc.uint8Array({ maxLength: 100 }), async (key, preImage) => {
          const { signer, stop } = await create(key);
          const signature = bytesToHex(await signOne(signer, signingItem(preImage)));
          const digest = keccak256(preImage);
          await stop();
          const reference = new SigningKey(key);
          expect(signer.address).toBe(computeAddress(reference));
          if (isDeterministic) expect(signature).toBe(reference.sign(digest).serialized);
          expect(recoverAddress(digest, signature)).toBe(signer.address);
        }),
        { numRuns: 64 },
      );
    });

    test('answers a batch in the order of its items', async () => {
      const { signer, stop } = await create(Buffer.alloc(32, 7));
      const items = Array.from({ length: 33 }, (_, index) => item(index));
      const together = (await endsOf(signer, items)).map((one) => bytesToHex(requireSignature(one)));
      await stop();
      expect(together.map((signature, at) => recoverAddress(items[at]!.digest, signature))).toEqual(
        items.map(() => signer.address),
      );
      expect(new Set(together).size).toBe(33);
    });

    test('an item that cannot be signed fails alone, and says that it is unsigned', async () => {
      const { signer, stop } = await create(Buffer.alloc(32, 7));
      const tooShort = { ...item(2), digest: new Uint8Array(31) };
      const ended = await endsOf(signer, [item(1), tooShort, item(3)]);
      await stop();
      expect(ended.map(({ outcome }) => outcome)).toEqual(['signed', 'unsigned', 'signed']);
      const [first, , third] = ended;
      expect(recoverAddress(item(1).digest, bytesToHex(requireSignature(first!)))).toBe(signer.address);
      expect(recoverAddress(item(3).digest, bytesToHex(requireSignature(third!)))).toBe(signer.address);
    });

    test('keeps earlier signatures untouched by later ones', async () => {
      const { signer, stop } = await create(Buffer.alloc(32, 7));
      const first = await signOne(signer, item(1));
      const copy = bytesToHex(first);
      await endsOf(signer, [item(2)]);
      await stop();
      expect(bytesToHex(first)).toBe(copy);
    });

    test('makes 65 bytes with low s and v 27 or 28', async () => {
      const { signer, stop } = await create(Buffer.alloc(32, 9));
      const items = Array.from({ length: 64 }, (_, index) => item(index));
      const ended = await endsOf(signer, items);
      await stop();
      const halfOrder = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;
      for (const signature of ended.map(requireSignature)) {
        expect(signature).toHaveLength(65);
        expect(BigInt(bytesToHex(signature.subarray(32, 64)))).toBeLessThanOrEqual(halfOrder);
        expect([27, 28]).toContain(signature[64]);
      }
    });

    test('an empty batch gives no signatures', async () => {
      const { signer, stop } = await create(Buffer.alloc(32, 9));
      expect(signer.sign([])).toEqual([]);
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
