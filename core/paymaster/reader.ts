import { toAddressKey, type AddressKey } from '../units/address.js';
import { bytesToHex, isHexBytes, type Hex } from '../units/hex.js';
import type { PaymasterGas } from '../entry-point/user-operation.js';

/** Bytes of `paymasterAndData`; RangeError unless it is whole hex bytes. */
export function readBytes(paymasterAndData: Hex): Buffer {
  if (!isHexBytes(paymasterAndData)) throw new RangeError('paymasterAndData must be hex bytes');
  return Buffer.from(paymasterAndData.slice(2), 'hex');
}

/** {@link readBytes}; RangeError unless there are exactly `size` bytes. */
export function readExactly(paymasterAndData: Hex, size: number): Buffer {
  const bytes = readBytes(paymasterAndData);
  if (bytes.length !== size)
    throw new RangeError(`paymasterAndData must be ${size} bytes in this layout, got ${bytes.length}`);
  return bytes;
}

export function readAddress(bytes: Buffer, offset: number): AddressKey {
  return toAddressKey(bytesToHex(bytes.subarray(offset, offset + 20)));
}

/** Address in the low 20 bytes of the word at `offset`; the high 12 must be zero. */
export function readAddressWord(bytes: Buffer, offset: number): AddressKey {
  expectZero(bytes, offset, offset + 12);
  return readAddress(bytes, offset + 12);
}

export function readUint48(bytes: Buffer, offset: number): number {
  return bytes.readUIntBE(offset, 6);
}

/** uint48 in a whole word; the high 26 bytes must be zero. */
export function readUint48Word(bytes: Buffer, offset: number): number {
  expectZero(bytes, offset, offset + 26);
  return readUint48(bytes, offset + 26);
}

export function readUint128(bytes: Buffer, offset: number): bigint {
  return (bytes.readBigUInt64BE(offset) << 64n) | bytes.readBigUInt64BE(offset + 8);
}

export function readUint256(bytes: Buffer, offset: number): bigint {
  return (readUint128(bytes, offset) << 128n) | readUint128(bytes, offset + 16);
}

/** The two paymaster limits @20 of `paymasterAndData` on EntryPoint 0.7+. */
export function readPaymasterGas(bytes: Buffer): PaymasterGas {
  return {
    paymasterVerificationGasLimit: readUint128(bytes, 20),
    paymasterPostOpGasLimit: readUint128(bytes, 36),
  };
}

export function expectZero(bytes: Buffer, from: number, to: number): void {
  for (let at = from; at < to; at += 1)
    if (bytes[at] !== 0) throw new RangeError(`paymasterAndData byte ${at} must be zero in this layout`);
}

/** The single word of an eth_call result as an integer; RangeError unless the result is exactly one word. */
export function parseWord(result: Hex): bigint {
  if (!/^0x[0-9a-fA-F]{64}$/.test(result))
    throw new RangeError(`expected one word, got ${result.length} characters`);
  return BigInt(result);
}
