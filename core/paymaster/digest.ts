import { bytesToHex, type Hex } from '../units/hex.js';

/** Bytes of a digest: enough that nobody finds two operations with the same one. */
const digestSize = 16;

/**
 * What a promise is recorded by and a mined operation recognised by: the first 16 bytes of what the paymaster signs, which
 * is the `hash` of a layout's codec (before the EIP-191 prefix).
 */
export function digestOf(hash: Uint8Array): Hex {
  return bytesToHex(hash.subarray(0, digestSize));
}
