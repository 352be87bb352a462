import { randomBytes } from 'node:crypto';
import { writeRecovery, type Curve } from './curve.js';

/**
 * libsecp256k1 as a native addon, about 40 µs per signature. Rejects when no binary fits this platform; it never falls
 * back to another library.
 */
export async function loadNativeCurve(): Promise<Curve> {
  const { default: secp256k1 } = await import('secp256k1/bindings.js');
  // Blinds the library's internal multiplications against side channels.
  secp256k1.contextRandomize(randomBytes(32));
  return {
    name: 'native',
    isKey: (key) => secp256k1.privateKeyVerify(key),
    publicKey: (key) => secp256k1.publicKeyCreate(key, false).subarray(1),
    sign: (digest, key) => {
      const signature = new Uint8Array(65);
      const { recid } = secp256k1.ecdsaSign(digest, key, {}, signature.subarray(0, 64));
      return writeRecovery(signature, recid);
    },
    recover: (digest, signature, recoveryId) => {
      try {
        return secp256k1.ecdsaRecover(signature, recoveryId, digest, false).subarray(1);
      } catch {
        // The library throws when r is not a point of the curve, or the key would be at infinity.
        return undefined;
      }
    },
  };
}
