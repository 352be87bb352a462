import { unreachable } from '../errors.js';
import { hexSize, type Hex } from '../units/hex.js';

// From EntryPoint 0.9 on, `paymasterAndData` may end in a signature that the operation hash leaves out, so that the
// paymaster can sign after the account:
//
//   paymaster 20 ++ verification gas 16 ++ postOp gas 16 ++ data ++ signature ++ length of the signature 2 ++ magic 8

/** keccak("PaymasterSignature")[:8] */
export const paymasterSignatureMagic: Hex = '0x22e325a297439656';

const magic = paymasterSignatureMagic.slice(2);
/** Length and magic, in bytes. */
const suffixSize = 10;
/** The head of `paymasterAndData` and the suffix; the EntryPoint does not look for the magic in fewer bytes. */
const minSize = 52 + suffixSize;
const maxSignatureSize = 0xffff;

/** What the EntryPoint finds at the end of `paymasterAndData`. */
export type PaymasterTail =
  /** No magic, or a length of 0: all bytes are hashed. */
  | { readonly kind: 'none' }
  /** `data` is everything before the signature. */
  | { readonly kind: 'signature'; readonly data: Hex; readonly signature: Hex }
  /** The length is larger than the data: the EntryPoint reverts with `InvalidPaymasterSignatureLength`. */
  | { readonly kind: 'tooLong' };

/** Reads `paymasterAndData` (lowercase) as EntryPoint 0.9 does. */
export function splitPaymasterSignature(paymasterAndData: Hex): PaymasterTail {
  const size = hexSize(paymasterAndData);
  if (size < minSize || !paymasterAndData.endsWith(magic)) return { kind: 'none' };
  const end = paymasterAndData.length - 2 * suffixSize;
  const length = Number.parseInt(paymasterAndData.slice(end, end + 4), 16);
  if (length === 0) return { kind: 'none' };
  if (length > size - minSize) return { kind: 'tooLong' };
  const start = end - 2 * length;
  return {
    kind: 'signature',
    data: `0x${paymasterAndData.slice(2, start)}`,
    signature: `0x${paymasterAndData.slice(start, end)}`,
  };
}

/**
 * Adds a paymaster signature of 1 to 65,535 bytes to `data`: `paymasterAndData`, or only its end, e.g.
 * `paymasterData`. Throws a RangeError for any other length: an empty signature would change the operation hash.
 */
export function joinPaymasterSignature(data: Hex, signature: Hex): Hex {
  const length = hexSize(signature);
  if (length < 1 || length > maxSignatureSize)
    throw new RangeError(`a paymaster signature must have 1 to ${maxSignatureSize} bytes, got ${length}`);
  return `${data}${signature.slice(2)}${length.toString(16).padStart(4, '0')}${magic}`;
}

/**
 * The bytes that stand for `paymasterAndData` in the operation hash of EntryPoint 0.9: with a signature, everything
 * before it and the magic. Undefined when the EntryPoint would revert.
 */
export function hashedPaymasterAndData(paymasterAndData: Hex): Hex | undefined {
  const tail = splitPaymasterSignature(paymasterAndData);
  switch (tail.kind) {
    case 'none':
      return paymasterAndData;
    case 'signature':
      return `${tail.data}${magic}`;
    case 'tooLong':
      return undefined;
    default:
      return unreachable(tail);
  }
}
