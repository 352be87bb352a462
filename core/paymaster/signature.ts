import { bytesToHex, hexToBytes, type Hex } from '../units/hex.js';

/** r 32 ++ s 32 ++ v 1. */
export const signatureSize = 65;

/** Refuses anything but 65 bytes: a shorter one would leave zeros in the data and fail on chain as AA34. */
export function assertSignature(signature: Uint8Array): void {
  if (signature.length !== signatureSize)
    throw new RangeError(`expected a signature of ${signatureSize} bytes, got ${signature.length}`);
}

/** Data that end with the signature. */
export function appendSignature(unsigned: Uint8Array, signature: Uint8Array): Hex {
  assertSignature(signature);
  return bytesToHex(Buffer.concat([unsigned, signature]));
}

// r is the x coordinate of the curve's generator, so recovery succeeds for every digest; s is below half the order.
// Contracts that use OpenZeppelin's ECDSA revert on an unrecoverable or high-s signature, which would spoil estimates.
const stub: Hex =
  '0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f817983e5d1f7ab6c94283d5e1fa02b4c7896d3e5d1f7ab6c94283d5e1fa02b4c7896d1c';

/** A well-formed signature that no known key made, for estimates and stub data: recoverable, low s, no zero bytes. */
export function stubSignature(): Uint8Array {
  return hexToBytes(stub);
}
