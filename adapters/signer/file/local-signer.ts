import { randomBytes } from 'node:crypto';
import { recoverAddress } from 'ethers/transaction';
import type { Signer, Signing, SigningItem } from '../../../core/paymaster/signer.js';
import { bytesToHex } from '../../../core/units/hex.js';
import { deriveAddress, type Curve } from '../curve.js';
import { notAKey } from './key-file.js';

/**
 * A signer whose key is in this process. Synchronous. Its first signature, over a random digest, is checked by recovery
 * with another library, so that a broken binary is noticed here and not by a refusal on chain. `origin` names the key's
 * file or variable in errors.
 */
export function createLocalSigner(curve: Curve, key: Uint8Array, origin: string): Signer {
  if (!curve.isKey(key)) throw notAKey(origin);
  const address = deriveAddress(curve.publicKey(key));
  const probe = randomBytes(32);
  if (recoverAddress(probe, bytesToHex(curve.sign(probe, key))) !== address)
    throw new Error(
      `the ${curve.name} secp256k1 library makes wrong signatures: nothing is signed with ${origin}`,
    );
  return {
    address,
    implementation: curve.name,
    sign: (items) => items.map((item) => signDigest(curve, item, key)),
  };
}

function signDigest(curve: Curve, { digest }: SigningItem, key: Uint8Array): Signing {
  try {
    return { outcome: 'signed', signature: curve.sign(digest, key) };
  } catch (error) {
    return { outcome: 'unsigned', error };
  }
}
