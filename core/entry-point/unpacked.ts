import type { Hex } from '../units/hex.js';
import { zeroed } from '../units/words.js';
import type { OperationForm } from './rules.js';
import type { FinalUserOperation } from './user-operation.js';
import { keccakOfHex, writeGasFields, writeIdentity } from './words.js';

/** `UserOperation` as a tuple type. */
export const userOperation06 =
  'tuple(address sender, uint256 nonce, bytes initCode, bytes callData, uint256 callGasLimit, uint256 verificationGasLimit, uint256 preVerificationGas, uint256 maxFeePerGas, uint256 maxPriorityFeePerGas, bytes paymasterAndData, bytes signature)';

export function userOperation06Values(op: FinalUserOperation, paymasterAndData: Hex): readonly unknown[] {
  return [
    op.sender,
    op.nonce,
    op.initCode,
    op.callData,
    op.callGasLimit,
    op.verificationGasLimit,
    op.preVerificationGas,
    op.maxFeePerGas,
    op.maxPriorityFeePerGas,
    paymasterAndData,
    op.signature,
  ];
}

/** `UserOperation`: each figure has its own word, and the paymaster has no gas limits. */
export const unpacked: OperationForm = {
  name: 'unpacked',
  abiType: userOperation06,
  abiValues: userOperation06Values,
  renderInitCode: (initCode) => ({ initCode }),
  renderPaymaster: (paymasterAndData) => ({ paymasterAndData }),
  hasPaymasterFields: false,
  // The paymaster's validation and its postOp may each use verificationGasLimit again.
  paymasterGasOf: (op) => 2n * op.verificationGasLimit,
};

/** The ten hashed words: identity, gas fields, keccak(paymasterAndData). */
export function operationWordsUnpacked(op: FinalUserOperation, paymasterAndData: Hex): Buffer {
  const words = zeroed(10 * 32);
  writeIdentity(words, op, 0);
  writeGasFields(words, op, 128);
  words.set(keccakOfHex(paymasterAndData), 288);
  return words;
}
