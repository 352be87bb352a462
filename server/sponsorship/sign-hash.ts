import { personalDigest } from '../../core/crypto/keccak.js';
import { DomainError } from '../../core/errors.js';
import type { Signer } from '../../core/paymaster/signer.js';
import type { SigningBatch } from './signing-batch.js';

/** Signs a contract's 32-byte hash as contracts check it, with the EIP-191 prefix. Throws UNAVAILABLE. */
export async function signHash(signing: SigningBatch, signer: Signer, hash: Uint8Array): Promise<Uint8Array> {
  try {
    return await signing.sign(signer, personalDigest(hash));
  } catch (cause) {
    throw new DomainError('UNAVAILABLE', 'The signer did not answer: try again.', {
      reason: 'SIGNER_UNAVAILABLE',
      retryAfterSeconds: 1,
      cause,
    });
  }
}
