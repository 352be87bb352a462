/** Byte string as lowercase hex with `0x`. The empty byte string is `0x`, never `""`. */
export type Hex = `0x${string}`;

/** A hex text and its bytes. */
export type DecodedHex = { readonly hex: Hex; readonly bytes: Uint8Array };

const hexPattern = /^0x(?:[0-9a-fA-F]{2})*$/;

/** True for `0x` followed by whole bytes, in any case. */
export function isHexBytes(value: unknown): value is Hex {
  return typeof value === 'string' && hexPattern.test(value);
}

export function bytesToHex(bytes: Uint8Array): Hex {
  return `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`;
}

/** The bytes of a hex text that `isHexBytes` accepts. */
export function hexToBytes(hex: Hex): Uint8Array {
  return Buffer.from(hex.slice(2), 'hex');
}

/**
 * `known` if it belongs to this text, otherwise the decoded text: a copy with a changed text may still have the old
 * bytes.
 */
export function decodedHex(hex: Hex, known?: DecodedHex): DecodedHex {
  return known?.hex === hex ? known : { hex, bytes: hexToBytes(hex) };
}

/** Number of bytes that a hex text encodes. */
export function hexSize(hex: Hex): number {
  return (hex.length - 2) >> 1;
}

/** A quantity as JSON-RPC writes it: hex without leading zeros. */
export function hexQuantity(value: bigint | number): Hex {
  return `0x${value.toString(16)}`;
}

/** A word of the ABI: 64 hex digits, without 0x. */
export function hexWord(value: bigint | number): string {
  return value.toString(16).padStart(64, '0');
}
