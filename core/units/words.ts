import type { Hex } from './hex.js';

// Fixed-layout encoding into a zero-filled Buffer: each writer takes the byte offset where its value begins and
// writes big-endian. A value wider than its field throws RangeError; nothing is ever cut off silently.

const uint64Max = 0xffff_ffff_ffff_ffffn;

/** A zero-filled buffer. Small ones come from Node's pool, which is several times cheaper than `Buffer.alloc`. */
export function zeroed(size: number): Buffer {
  return Buffer.allocUnsafe(size).fill(0);
}

/** uint256, 32 bytes at `offset`. */
export function writeUint256(buffer: Buffer, value: bigint, offset: number): void {
  if (value <= uint64Max) {
    buffer.writeBigUInt64BE(value, offset + 24);
    return;
  }
  writeWide(buffer, value, offset, 32);
}

/** uint128, 16 bytes at `offset`. */
export function writeUint128(buffer: Buffer, value: bigint, offset: number): void {
  if (value <= uint64Max) {
    buffer.writeBigUInt64BE(value, offset + 8);
    return;
  }
  writeWide(buffer, value, offset, 16);
}

/** uint48, 6 bytes at `offset`. */
export function writeUint48(buffer: Buffer, value: number, offset: number): void {
  buffer.writeUIntBE(value, offset, 6);
}

/** Writes the bytes of an address or another hex text at `offset`, unpadded. */
export function writeHex(buffer: Buffer, hex: Hex, offset: number): void {
  const size = (hex.length - 2) >> 1;
  if (buffer.write(hex.slice(2), offset, size, 'hex') !== size)
    throw new RangeError(`expected hex bytes that fit at offset ${offset}, got ${size} bytes`);
}

/** Writes an address into the low 20 bytes of the word at `offset`. */
export function writeAddressWord(buffer: Buffer, address: Hex, offset: number): void {
  writeHex(buffer, address, offset + 12);
}

function writeWide(buffer: Buffer, value: bigint, offset: number, width: number): void {
  let rest = value;
  for (let at = offset + width - 8; at >= offset; at -= 8) {
    buffer.writeBigUInt64BE(rest & uint64Max, at);
    rest >>= 64n;
  }
  if (rest !== 0n) throw new RangeError(`expected at most ${width * 8} bits, got ${value}`);
}
