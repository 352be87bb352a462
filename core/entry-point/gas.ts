import { wei, type Wei } from '../units/wei.js';
import { entryPointRules } from './table.js';
import type { FinalUserOperation, PaymasterGas } from './user-operation.js';
import type { EntryPointVersion } from './version.js';

/** For EntryPoints that have no separate gas limits for the paymaster. */
export const noPaymasterGas: PaymasterGas = {
  paymasterVerificationGasLimit: 0n,
  paymasterPostOpGasLimit: 0n,
};

/** Gas that the EntryPoint charges in advance when a paymaster pays. */
export function requiredGas(
  op: FinalUserOperation,
  version: EntryPointVersion,
  paymasterGas: PaymasterGas,
): bigint {
  return entryPointRules[version].requiredGas(op, paymasterGas);
}

/** Gas that the EntryPoint charges on top for unused call and postOp gas, and pays to the bundler. */
export function unusedGasFine(unusedCall: bigint, unusedPostOp: bigint, version: EntryPointVersion): bigint {
  return entryPointRules[version].unusedGasFine?.(unusedCall, unusedPostOp) ?? 0n;
}

/** Whether an operation can pay for gas that it asked for and did not use. */
export function finesUnusedGas(version: EntryPointVersion): boolean {
  return entryPointRules[version].unusedGasFine !== undefined;
}

/**
 * The most that the operation can cost, in wei: the EntryPoint's required prefund, which it holds back from the
 * paymaster's deposit. A NATIVE_ASSET limit reserves this amount.
 */
export function maxCost(op: FinalUserOperation, version: EntryPointVersion, paymasterGas: PaymasterGas): Wei {
  return wei(requiredGas(op, version, paymasterGas) * op.maxFeePerGas);
}
