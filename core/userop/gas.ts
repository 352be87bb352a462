import type { PaymasterGas } from '../paymaster/layout.js';
import { wei } from '../units/wei.js';
import type { Wei } from '../units/wei.js';
import type { EntryPointVersion, FinalUserOperation } from './user-operation.js';

/** EntryPoint 0.6 has no limits of the paymaster's own. */
export const noPaymasterGas: PaymasterGas = {
  paymasterVerificationGasLimit: 0n,
  paymasterPostOpGasLimit: 0n,
};

/**
 * Gas that the EntryPoint charges in advance when a paymaster pays. 0.6 counts verificationGasLimit three times,
 * because it bounds the account's validation, the paymaster's and postOp; 0.7+ adds the five limits.
 */
export function requiredGas(
  op: FinalUserOperation,
  version: EntryPointVersion,
  paymasterGas: PaymasterGas,
): bigint {
  if (version === '0.6') return op.callGasLimit + 3n * op.verificationGasLimit + op.preVerificationGas;
  return (
    op.callGasLimit +
    op.verificationGasLimit +
    op.preVerificationGas +
    paymasterGas.paymasterVerificationGasLimit +
    paymasterGas.paymasterPostOpGasLimit
  );
}

/**
 * Gas that the EntryPoint charges on top for unused call and postOp gas, and pays to the bundler: a tenth of both together
 * on 0.7; on 0.8 of each by itself, and nothing of up to 40,000. Nothing on 0.6.
 */
export function unusedGasFine(unusedCall: bigint, unusedPostOp: bigint, version: EntryPointVersion): bigint {
  if (version === '0.6') return 0n;
  if (version === '0.7') return (unusedCall + unusedPostOp) / 10n;
  const fine = (unused: bigint): bigint => (unused <= unfinedGas ? 0n : unused / 10n);
  return fine(unusedCall) + fine(unusedPostOp);
}

const unfinedGas = 40_000n;

/**
 * The most that the operation can cost, in wei: the EntryPoint's required prefund, which it holds back from the
 * paymaster's deposit. What a NATIVE_ASSET limit reserves.
 */
export function maxCost(op: FinalUserOperation, version: EntryPointVersion, paymasterGas: PaymasterGas): Wei {
  return wei(requiredGas(op, version, paymasterGas) * op.maxFeePerGas);
}
