import { keccak256 } from '../crypto/keccak.js';
import { decodedHex } from '../units/hex.js';
import type { Hex } from '../units/hex.js';
import type { FinalUserOperation } from '../userop/user-operation.js';
import type { PaymasterGas } from './layout.js';

// Fixed-layout encoding into a zero-filled Buffer: each writer takes the byte offset where its value begins and writes
// big-endian. A value wider than its field throws RangeError; nothing is ever cut off silently.

const keccakOfNothing = keccak256(new Uint8Array());
const uint64Max = 0xffff_ffff_ffff_ffffn;

/** A zero-filled buffer. Small ones come from Node's pool, several times cheaper than `Buffer.alloc`. */
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

/** Bytes of an address or another hex text, at `offset`, unpadded. */
export function writeHex(buffer: Buffer, hex: Hex, offset: number): void {
  const size = (hex.length - 2) >> 1;
  if (buffer.write(hex.slice(2), offset, size, 'hex') !== size)
    throw new RangeError(`expected hex bytes that fit at offset ${offset}, got ${size} bytes`);
}

/** An address in the low 20 bytes of the word at `offset`. */
export function writeAddressWord(buffer: Buffer, address: Hex, offset: number): void {
  writeHex(buffer, address, offset + 12);
}

/** keccak-256 of the bytes of `hex`. */
export function keccakOfHex(hex: Hex): Uint8Array {
  // Most operations have no initCode.
  if (hex === '0x') return keccakOfNothing;
  return keccak256(Buffer.from(hex.slice(2), 'hex'));
}

/** keccak-256 of callData, which is decoded only if nobody has done so before. */
export function keccakOfCallData({ callData, callDataBytes }: FinalUserOperation): Uint8Array {
  return keccak256(decodedHex(callData, callDataBytes).bytes);
}

/** sender, nonce, keccak(initCode), keccak(callData): the four words that begin most operation hashes. */
export function writeIdentity(buffer: Buffer, op: FinalUserOperation, offset: number): void {
  writeAddressWord(buffer, op.sender, offset);
  writeUint256(buffer, op.nonce, offset + 32);
  buffer.set(keccakOfHex(op.initCode), offset + 64);
  buffer.set(keccakOfCallData(op), offset + 96);
}

/**
 * EntryPoint 0.6, five words: callGasLimit, verificationGasLimit, preVerificationGas, maxFeePerGas,
 * maxPriorityFeePerGas.
 */
export function writeGasFields(buffer: Buffer, op: FinalUserOperation, offset: number): void {
  writeUint256(buffer, op.callGasLimit, offset);
  writeUint256(buffer, op.verificationGasLimit, offset + 32);
  writeUint256(buffer, op.preVerificationGas, offset + 64);
  writeUint256(buffer, op.maxFeePerGas, offset + 96);
  writeUint256(buffer, op.maxPriorityFeePerGas, offset + 128);
}

/** `accountGasLimits` of EntryPoint 0.7+: verificationGasLimit 16 ++ callGasLimit 16. */
export function writeAccountGasLimits(buffer: Buffer, op: FinalUserOperation, offset: number): void {
  writeUint128(buffer, op.verificationGasLimit, offset);
  writeUint128(buffer, op.callGasLimit, offset + 16);
}

/** `gasFees` of EntryPoint 0.7+: maxPriorityFeePerGas 16 ++ maxFeePerGas 16. */
export function writeGasFees(buffer: Buffer, op: FinalUserOperation, offset: number): void {
  writeUint128(buffer, op.maxPriorityFeePerGas, offset);
  writeUint128(buffer, op.maxFeePerGas, offset + 16);
}

/** The two paymaster limits as packed in `paymasterAndData` @20: verification 16 ++ postOp 16. */
function writePaymasterGas(buffer: Buffer, gas: PaymasterGas, offset: number): void {
  writeUint128(buffer, gas.paymasterVerificationGasLimit, offset);
  writeUint128(buffer, gas.paymasterPostOpGasLimit, offset + 16);
}

/** Head of `paymasterAndData` on EntryPoint 0.7+, 52 bytes @0: paymaster 20, verification gas 16, postOp gas 16. */
export function writePaymasterHead(buffer: Buffer, paymaster: Hex, gas: PaymasterGas): void {
  writeHex(buffer, paymaster, 0);
  writePaymasterGas(buffer, gas, 20);
}

/** What an operation is signed for. */
type Scope = { readonly chainId: number; readonly paymaster: Hex };

/** Eleven words @0 that begin hashes for EntryPoint 0.6: identity, gas fields, chainId, paymaster. 352 bytes. */
export function writeScoped06(buffer: Buffer, op: FinalUserOperation, { chainId, paymaster }: Scope): void {
  writeIdentity(buffer, op, 0);
  writeGasFields(buffer, op, 128);
  writeUint256(buffer, BigInt(chainId), 288);
  writeAddressWord(buffer, paymaster, 320);
}

/**
 * Ten words @0 that begin hashes for EntryPoint 0.7: identity, accountGasLimits, the paymaster's limits, preVerificationGas,
 * gasFees, chainId, paymaster. 320 bytes.
 */
export function writeScoped07(
  buffer: Buffer,
  op: FinalUserOperation,
  { chainId, paymaster }: Scope,
  gas: PaymasterGas,
): void {
  writeIdentity(buffer, op, 0);
  writeAccountGasLimits(buffer, op, 128);
  writePaymasterGas(buffer, gas, 160);
  writeUint256(buffer, op.preVerificationGas, 192);
  writeGasFees(buffer, op, 224);
  writeUint256(buffer, BigInt(chainId), 256);
  writeAddressWord(buffer, paymaster, 288);
}

/** Size of {@link writePaymasterHead}; what the layout adds begins here. */
export const paymasterHeadSize = 52;

function writeWide(buffer: Buffer, value: bigint, offset: number, width: number): void {
  let rest = value;
  for (let at = offset + width - 8; at >= offset; at -= 8) {
    buffer.writeBigUInt64BE(rest & uint64Max, at);
    rest >>= 64n;
  }
  if (rest !== 0n) throw new RangeError(`expected at most ${width * 8} bits, got ${value}`);
}
