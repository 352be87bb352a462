import { keccak256, personalMessage } from '../../core/crypto/keccak.js';
import type { Signer, Signing, SigningItem } from '../../core/paymaster/signer.js';

/** `sign` of a signer that never fails. */
export function signsBy(sign: (digest: Uint8Array) => Uint8Array) {
  return (items: readonly SigningItem[]): readonly Signing[] =>
    items.map(({ digest }) => ({ outcome: 'signed', signature: sign(digest) }));
}

/** How each item ended. */
export function endsOf(signer: Signer, items: readonly SigningItem[]): Promise<readonly Signing[]> {
  return Promise.all(signer.sign(items).map(async (signing) => signing));
}

/** What a wallet signs for 32 bytes. */
export function personalDigest(hash: Uint8Array): Uint8Array {
  return keccak256(personalMessage(hash));
}
