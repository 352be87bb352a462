import { bytesToHex, hexQuantity, type Hex } from '../units/hex.js';
import { writeUint256, zeroed } from '../units/words.js';
import { eip7702Factory } from './eip-7702.js';
import type { OperationForm, RenderedFields } from './rules.js';
import type { FinalUserOperation, PaymasterGas } from './user-operation.js';
import { keccakOfHex, writeAccountGasLimits, writeGasFees, writeIdentity } from './words.js';

/** `PackedUserOperation` as a tuple type. */
export const userOperation07 =
  'tuple(address sender, uint256 nonce, bytes initCode, bytes callData, bytes32 accountGasLimits, uint256 preVerificationGas, bytes32 gasFees, bytes paymasterAndData, bytes signature)';

export function userOperation07Values(op: FinalUserOperation, paymasterAndData: Hex): readonly unknown[] {
  const words = zeroed(64);
  writeAccountGasLimits(words, op, 0);
  writeGasFees(words, op, 32);
  return [
    op.sender,
    op.nonce,
    op.initCode,
    op.callData,
    bytesToHex(words.subarray(0, 32)),
    op.preVerificationGas,
    bytesToHex(words.subarray(32)),
    paymasterAndData,
    op.signature,
  ];
}

/** `PackedUserOperation`: two figures of 16 bytes in one word, and gas limits for the paymaster. */
export const packed: OperationForm = {
  name: 'packed',
  abiType: userOperation07,
  abiValues: userOperation07Values,
  renderInitCode,
  renderPaymaster,
  hasPaymasterFields: true,
  paymasterGasOf: (_op, paymasterAndData) =>
    BigInt(`0x${paymasterAndData.slice(42, 74)}`) + BigInt(`0x${paymasterAndData.slice(74, 106)}`),
};

/** `factory` and `factoryData`; no fields for `0x`. */
function renderInitCode(initCode: Hex): RenderedFields {
  if (initCode === '0x') return {};
  const factory = initCode.slice(0, 42);
  // ERC-4337 writes the marker of an EIP-7702 account without padding. A wallet that padded it gets its own bytes back, since
  // contracts hash them; with call data behind it both forms mean the same bytes.
  const isMarker = factory.padEnd(42, '0') === eip7702Factory && initCode !== eip7702Factory;
  return { factory: isMarker ? '0x7702' : factory, factoryData: `0x${initCode.slice(42)}` };
}

/** The four unpacked fields of `paymasterAndData`; no fields for `0x`. */
function renderPaymaster(paymasterAndData: Hex): RenderedFields {
  if (paymasterAndData === '0x') return {};
  return {
    paymaster: paymasterAndData.slice(0, 42),
    paymasterVerificationGasLimit: hexQuantity(BigInt(`0x${paymasterAndData.slice(42, 74)}`)),
    paymasterPostOpGasLimit: hexQuantity(BigInt(`0x${paymasterAndData.slice(74, 106)}`)),
    paymasterData: `0x${paymasterAndData.slice(106)}`,
  };
}

/** The sum of the five limits. */
export function requiredGasPacked(op: FinalUserOperation, paymasterGas: PaymasterGas): bigint {
  return (
    op.callGasLimit +
    op.verificationGasLimit +
    op.preVerificationGas +
    paymasterGas.paymasterVerificationGasLimit +
    paymasterGas.paymasterPostOpGasLimit
  );
}

const unfinedGas = 40_000n;

/** A tenth of each, and nothing for an amount of up to 40,000: the fine of EntryPoint 0.8 and 0.9. */
export function fineAboveThreshold(unusedCall: bigint, unusedPostOp: bigint): bigint {
  return computeFine(unusedCall) + computeFine(unusedPostOp);
}

function computeFine(unused: bigint): bigint {
  return unused <= unfinedGas ? 0n : unused / 10n;
}

/** The eight hashed words: identity, accountGasLimits, preVerificationGas, gasFees, keccak(paymasterAndData). */
export function operationWordsPacked(op: FinalUserOperation, paymasterAndData: Hex): Buffer {
  const words = zeroed(8 * 32);
  writePacked(words, op, paymasterAndData, 0);
  return words;
}

/** Writes the words of {@link operationWordsPacked} at `offset`. */
export function writePacked(
  words: Buffer,
  op: FinalUserOperation,
  paymasterAndData: Hex,
  offset: number,
): void {
  writeIdentity(words, op, offset);
  writeAccountGasLimits(words, op, offset + 128);
  writeUint256(words, op.preVerificationGas, offset + 160);
  writeGasFees(words, op, offset + 192);
  words.set(keccakOfHex(paymasterAndData), offset + 224);
}

/** The method of `EntryPointSimulations`. */
export const simulateHandleOpPacked = `function simulateHandleOp(${packed.abiType} op, address target, bytes targetCallData) returns (tuple(uint256 preOpGas, uint256 paid, uint256 accountValidationData, uint256 paymasterValidationData, bool targetSuccess, bytes targetResult))`;
