import type { FinalUserOperation, EntryPointVersion } from '../userop/user-operation.js';
import type { PaymasterGas } from './layout.js';

export const noPaymasterGas: PaymasterGas = {
  paymasterVerificationGasLimit: 0n,
  paymasterPostOpGasLimit: 0n,
};

/**
 * Gas that the EntryPoint charges in advance when a paymaster pays. 0.6 counts verificationGasLimit three times,
 * because it bounds the account's validation, the paymaster's and postOp; 0.7+ adds the five limits.
 */
export function requiredGas(op: FinalUserOperation, version: EntryPointVersion, gas: PaymasterGas): bigint {
  if (version === '0.6') return op.callGasLimit + 3n * op.verificationGasLimit + op.preVerificationGas;
  return (
    op.callGasLimit +
    op.verificationGasLimit +
    op.preVerificationGas +
    gas.paymasterVerificationGasLimit +
    gas.paymasterPostOpGasLimit
  );
}

/** The EntryPoint's required prefund in wei: what it holds back from the paymaster's deposit, and the most it takes. */
export function requiredPrefund(
  op: FinalUserOperation,
  version: EntryPointVersion,
  gas: PaymasterGas,
): bigint {
  return requiredGas(op, version, gas) * op.maxFeePerGas;
}
