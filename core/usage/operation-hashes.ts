import type { Hex } from '../units/hex.js';
import type { SignedPromise } from './reservation.js';

// Operation hashes with which promises of a reservation can be mined, as far as they are known. One that matches proves the promise; one
// that does not proves nothing, since anyone who mines an operation may pad its data. A hash over a signature is known only after the
// promise was recorded, so the next promise of the reservation carries it: nothing is written for it alone.
//
// Pairs of 32 bytes: the digest of the promise 16, the first bytes of its hash 16.

/** Hex digits of a digest, or of the kept part of a hash. */
const half = 32;

export function hashPair(digest: Hex, userOpHash: Hex): string {
  return digest.slice(2, 2 + half) + userOpHash.slice(2, 2 + half);
}

/** Digests of the promises that this hash proves. */
export function digestsBy(
  userOpHash: Hex,
  promises: readonly Pick<SignedPromise, 'hashes'>[],
): readonly Hex[] {
  const wanted = userOpHash.slice(2, 2 + half).toLowerCase();
  return promises.flatMap(({ hashes = '0x' }) => {
    const found: Hex[] = [];
    for (let at = 2; at < hashes.length; at += 2 * half)
      if (hashes.slice(at + half, at + 2 * half) === wanted) found.push(`0x${hashes.slice(at, at + half)}`);
    return found;
  });
}
