import { keccak256, personalMessage } from '../../core/crypto/keccak.js';
import type { Signing, SigningItem } from '../../core/paymaster/signer.js';

/** `sign` of a signer that never fails. */
export function signsBy(sign: (digest: Uint8Array) => Uint8Array) {
  return (items: readonly SigningItem[]): readonly Signing[] =>
    items.map(({ digest }) => ({ outcome: 'signed', signature: sign(digest) }));
}

/** What a wallet signs for 32 bytes. */
export function personalDigest(hash: Uint8Array): Uint8Array {
  return keccak256(personalMessage(hash));
}
