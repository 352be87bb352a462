import { createPrivateKey } from 'node:crypto';

const digits = /^(?:0x)?([0-9a-fA-F]{64})\s*$/;

/**
 * The 32 bytes of a private key that was wrapped: as they are, as 64 hex digits (a key file), or as PKCS#8, as AWS makes
 * data key pairs. Undefined for anything else.
 */
export function readPrivateKey(plaintext: Uint8Array): Uint8Array | undefined {
  if (plaintext.length === 32) return plaintext;
  const [, hex] = digits.exec(Buffer.from(plaintext).toString('latin1')) ?? [];
  if (hex !== undefined) return Buffer.from(hex, 'hex');
  try {
    const { crv, d } = createPrivateKey({ key: Buffer.from(plaintext), format: 'der', type: 'pkcs8' }).export(
      {
        format: 'jwk',
      },
    );
    return crv === 'secp256k1' && d !== undefined ? Buffer.from(d, 'base64url') : undefined;
  } catch {
    return undefined;
  }
}
