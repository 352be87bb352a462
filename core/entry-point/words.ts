import { keccak256 } from '../crypto/keccak.js';
import { decodedHex, type Hex } from '../units/hex.js';
import { writeAddressWord, writeHex, writeUint128, writeUint256 } from '../units/words.js';
import type { FinalUserOperation, PaymasterGas } from './user-operation.js';

// Parts of an operation as EntryPoints and paymasters hash and pack them, written at a byte offset; see
// `units/words.ts`.

const keccakOfNothing = keccak256(new Uint8Array());

/** keccak-256 of the bytes of `hex`. */
export function keccakOfHex(hex: Hex): Uint8Array {
  // Most operations have no initCode.
  if (hex === '0x') return keccakOfNothing;
  return keccak256(Buffer.from(hex.slice(2), 'hex'));
}

/** keccak-256 of callData; decodes it only if that has not been done before. */
export function keccakOfCallData({ callData, callDataBytes }: FinalUserOperation): Uint8Array {
  return keccak256(decodedHex(callData, callDataBytes).bytes);
}

/** sender, nonce, keccak(initCode), keccak(callData): the four words at the beginning of most operation hashes. */
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
export function writePaymasterGas(buffer: Buffer, gas: PaymasterGas, offset: number): void {
  writeUint128(buffer, gas.paymasterVerificationGasLimit, offset);
  writeUint128(buffer, gas.paymasterPostOpGasLimit, offset + 16);
}

/** Head of `paymasterAndData` on EntryPoint 0.7+, 52 bytes @0: paymaster 20, verification gas 16, postOp gas 16. */
export function writePaymasterHead(buffer: Buffer, paymaster: Hex, gas: PaymasterGas): void {
  writeHex(buffer, paymaster, 0);
  writePaymasterGas(buffer, gas, 20);
}

/** Size of {@link writePaymasterHead}; the layout's own data begin here. */
export const paymasterHeadSize = 52;
