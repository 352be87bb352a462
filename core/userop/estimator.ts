import type { Address } from '../units/address.js';
import type { Hex } from '../units/hex.js';
import type { EntryPointVersion } from '../entry-point/version.js';
import type { GasLimits, UserOperation } from '../entry-point/user-operation.js';

/**
 * Port: gas limits of an operation by simulation (reference/onchain.md section 5) or by a bundler. `reverted` means
 * that the account's call would fail with the limits found; the caller decides whether that matters. If an operation
 * cannot be simulated at all (bad initCode, signature check that reverts, node without overrides), it throws
 * DomainError ESTIMATION_FAILED whose message names the EntryPoint's reason, e.g. "AA13 initCode failed or OOG".
 */
export type GasEstimator = { estimate(request: EstimateRequest): Promise<Estimate> };

export type EstimateRequest = {
  /** The paymaster that asks: no paymaster gets more than its share of the simulations. */
  readonly paymasterId: string;
  readonly chainId: number;
  readonly entryPoint: Address;
  readonly entryPointVersion: EntryPointVersion;
  readonly op: UserOperation;
  /** Paymaster data with a recoverable stub signature; undefined simulates without a paymaster. */
  readonly paymasterAndData: Hex | undefined;
  /** Least limits that the layout needs (0.6: verificationGasLimit also bounds postOp). */
  readonly minVerificationGasLimit: bigint;
  /**
   * Called with limits that are most often the estimate, when these still have to be confirmed. What follows can begin
   * at once; it has to begin again if the estimate is another one. The last call counts.
   */
  readonly onFound?: (limits: Estimate) => void;
};

export type Estimate = GasLimits & {
  /** Why the account's call fails, decoded if possible; undefined when it succeeds. */
  readonly reverted?: string;
  /** What the caller can do about `reverted`, if that is known. */
  readonly remedy?: string;
};
