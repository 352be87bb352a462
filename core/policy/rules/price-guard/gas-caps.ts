/**
 * Caps against callers who choose gas fields to drain the deposit. The Chain's caps replace the defaults; the
 * Paymaster's can only tighten what the Chain, or the default, allows.
 */
export type GasCaps = {
  /** Highest maxFeePerGas in wei, decimal text. */
  readonly maxFeePerGas?: string;
  /** Highest maxPriorityFeePerGas in wei, decimal text. */
  readonly maxPriorityFeePerGas?: string;
  readonly maxCallGasLimit?: number;
  readonly maxVerificationGasLimit?: number;
  /** Highest verificationGasLimit of an operation with initCode. */
  readonly maxDeploymentGas?: number;
  readonly maxPreVerificationGas?: number;
  /** Highest sum of the three gas limits of an operation: a transaction has to hold it. */
  readonly maxOperationGas?: number;
  /**
   * Highest fine for unused gas, in wei, decimal text, for limits that were not simulated. EntryPoint 0.7 and later.
   */
  readonly maxUnusedGasFee?: string;
};
