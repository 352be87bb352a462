import { isWithin, readValidationData } from '../entry-point/validation-data.js';
import type { EntryPointVersion } from '../entry-point/version.js';
import type { FinalUserOperation } from '../entry-point/user-operation.js';
import { pass, refuse, type Verdict } from '../refusal.js';
import type { Hex } from '../units/hex.js';
import type { SimulationTarget } from './estimator.js';

/**
 * Port: simulates the validation of an operation with the account's own signature. Refuses with
 * ACCOUNT_VALIDATION_FAILED when the account does not accept the operation now. Throws UNAVAILABLE when no node
 * answers, and ESTIMATION_FAILED when the node cannot simulate, or the validation of the paymaster fails.
 */
export type AccountValidator = { validate(request: AccountValidationRequest): Promise<Verdict> };

export type AccountValidationRequest = SimulationTarget & {
  /** With the signature of the account. */
  readonly op: FinalUserOperation;
  /** As the account has signed it; the signature of the paymaster may be a placeholder. */
  readonly paymasterAndData: Hex;
  /** Number of the newest block. */
  readonly headBlock: number;
};

/** The verdict on the word that an account's validation has returned, for an operation that is mined in `block`. */
export function decideValidation(
  word: bigint,
  block: Parameters<typeof isWithin>[1],
  version: EntryPointVersion,
): Verdict {
  const { signature, window } = readValidationData(word, version);
  if (signature === 'failed') return failed('the account does not accept the signature');
  if (signature !== 'valid') return failed(`the account names the aggregator ${signature}`);
  if (isWithin(window, block, version)) return pass;
  const { unit, validAfter, validUntil } = window;
  return failed(
    `the account's signature is valid from ${validAfter} to ${validUntil} (${unit}), not in the next block`,
  );
}

function failed(why: string): Verdict {
  return refuse('ACCOUNT_VALIDATION_FAILED', why);
}
