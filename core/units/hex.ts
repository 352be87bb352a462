/** Byte string as lowercase hex with `0x`. The empty byte string is `0x`, never `""`. */
export type Hex = `0x${string}`;

const hexPattern = /^0x(?:[0-9a-fA-F]{2})*$/;

/** True for `0x` followed by whole bytes, in any case. */
export function isHexBytes(value: unknown): value is Hex {
  return typeof value === 'string' && hexPattern.test(value);
}

export function bytesToHex(bytes: Uint8Array): Hex {
  return `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`;
}

/** Bytes of a hex text that `isHexBytes` accepts. */
export function hexToBytes(hex: Hex): Uint8Array {
  return Buffer.from(hex.slice(2), 'hex');
}

/** Number of bytes that a hex text stands for. */
export function hexSize(hex: Hex): number {
  return (hex.length - 2) >> 1;
}
