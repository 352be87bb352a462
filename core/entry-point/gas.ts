import { wei, type Wei } from '../units/wei.js';
import { entryPointRules } from './table.js';
import type { FinalUserOperation, PaymasterGas } from './user-operation.js';
import type { EntryPointVersion } from './version.js';

/** Where the EntryPoint has no limits of the paymaster's own. */
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

/** Whether any gas that is asked for and not used can cost something. */
export function finesUnusedGas(version: EntryPointVersion): boolean {
  return entryPointRules[version].unusedGasFine !== undefined;
}

/**
 * The most that the operation can cost, in wei: the EntryPoint's required prefund, which it holds back from the
 * paymaster's deposit. What a NATIVE_ASSET limit reserves.
 */
export function maxCost(op: FinalUserOperation, version: EntryPointVersion, paymasterGas: PaymasterGas): Wei {
  return wei(requiredGas(op, version, paymasterGas) * op.maxFeePerGas);
}
