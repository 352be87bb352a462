import { DomainError } from '../errors.js';
import type { Hex } from '../units/hex.js';
import type { GasLimits, UserOperation } from '../entry-point/user-operation.js';
import type { Address } from '../units/address.js';
import type { EntryPointVersion } from '../entry-point/version.js';

/**
 * Port: gas limits of an operation by simulation or by a bundler. `reverted` means
 * that the account's call would fail with the limits found; the caller decides whether that matters. If an operation
 * cannot be simulated at all (bad initCode, signature check that reverts, node without overrides), it throws
 * DomainError ESTIMATION_FAILED whose message names the EntryPoint's reason, e.g. "AA13 initCode failed or OOG".
 */
export type GasEstimator = { estimate(request: EstimateRequest): Promise<Estimate> };

/** ESTIMATION_FAILED because neither the node nor a bundler can simulate anything, whatever the operation. */
export class NothingSimulates extends DomainError {}

export type EstimateRequest = SimulationTarget & {
  readonly op: UserOperation;
  /** Paymaster data with a recoverable stub signature; undefined simulates without a paymaster. */
  readonly paymasterAndData: Hex | undefined;
  /** Least limits that the layout needs (0.6: verificationGasLimit also bounds postOp). */
  readonly minVerificationGasLimit: bigint;
  /** The highest limits that would be signed: those found are raised at most this far. */
  readonly most: Pick<GasLimits, 'callGasLimit' | 'verificationGasLimit'>;
  /**
   * Called, unless the limits found need no confirmation, with the few limits of which one will be the estimate; the first
   * ones are by far the most likely. What follows can begin at once with each of them, instead of one round trip later. So
   * limits are raised in larger steps than without it.
   */
  readonly onCandidates?: (candidates: readonly Estimate[]) => void;
};

export type Estimate = GasLimits & {
  /** Why the account's call fails, decoded if possible; undefined when it succeeds. */
  readonly reverted?: string;
  /** What the caller can do about `reverted`, if that is known. */
  readonly remedy?: string;
};

/** Who asks for a simulation, and of which EntryPoint. */
export type SimulationTarget = {
  /** The paymaster that asks: no paymaster gets more than its share of the simulations. */
  readonly paymasterId: string;
  readonly chainId: number;
  readonly entryPoint: Address;
  readonly entryPointVersion: EntryPointVersion;
};
