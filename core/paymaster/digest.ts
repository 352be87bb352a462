import { bytesToHex, type Hex } from '../units/hex.js';

/** Bytes of a digest: enough that nobody can find two operations with the same digest. */
const digestSize = 16;

/**
 * Identifies a promise, both when it is recorded and when the mined operation is recognised: the first 16 bytes of
 * the `hash` of a layout's codec.
 */
export function toDigest(hash: Uint8Array): Hex {
  return bytesToHex(hash.subarray(0, digestSize));
}
