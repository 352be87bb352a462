import { joinPaymasterSignature, splitPaymasterSignature } from '../entry-point/paymaster-signature.js';
import { hexSize, type Hex } from '../units/hex.js';
import { signatureSize } from './signature.js';

// From EntryPoint 0.9 on, a contract may read its signature from the tail of `paymasterAndData`. The bytes in front of
// the signature, and what is signed, are the same in both forms.

/** Moves the 65-byte signature at the end of `paymasterAndData` to the tail. */
export function signatureToTail(paymasterAndData: Hex): Hex {
  const start = paymasterAndData.length - 2 * signatureSize;
  return joinPaymasterSignature(
    `0x${paymasterAndData.slice(2, start)}`,
    `0x${paymasterAndData.slice(start)}`,
  );
}

/** Makes a 65-byte signature in the tail the end of the data; other data stay as they are. */
export function signatureFromTail(paymasterAndData: Hex): Hex {
  const found = splitPaymasterSignature(paymasterAndData);
  return found.kind === 'signature' && hexSize(found.signature) === signatureSize
    ? `${found.data}${found.signature.slice(2)}`
    : paymasterAndData;
}

/** The `decode` of a codec whose contract reads both forms. */
export function decodesTail<T>(decode: (paymasterAndData: Hex) => T): (paymasterAndData: Hex) => T {
  return (paymasterAndData) => decode(signatureFromTail(paymasterAndData));
}
