import type { EntryPointVersion } from '../entry-point/version.js';
import type { FinalUserOperation } from '../entry-point/user-operation.js';
import { pass, refuse, type Verdict } from '../refusal.js';
import type { Hex } from '../units/hex.js';
import type { SimulationTarget } from './estimator.js';
import { addressKeyAt, type AddressKey } from '../units/address.js';
import { entryPointRules } from '../entry-point/table.js';

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
  const { signature, validity } = readValidationData(word, version);
  if (signature === 'failed') return failed('the account does not accept the signature');
  if (signature !== 'valid') return failed(`the account names the aggregator ${signature}`);
  if (isWithin(validity, block, version)) return pass;
  const { unit, validAfter, validUntil } = validity;
  return failed(
    `the account's signature is valid from ${validAfter} to ${validUntil} (${unit}), not in the next block`,
  );
}

function failed(why: string): Verdict {
  return refuse('ACCOUNT_VALIDATION_FAILED', why);
}

/** What `validateUserOp` and `validatePaymasterUserOp` return, as an EntryPoint reads it. */
type ValidationData = {
  /** `valid`, `failed` signature, or the address of an aggregator, which `handleOps` refuses. */
  readonly signature: 'valid' | 'failed' | AddressKey;
  readonly validity: Validity;
};

/** From EntryPoint 0.9 on a window may count blocks. We sign seconds only. */
type Validity = {
  readonly unit: 'seconds' | 'blocks';
  readonly validAfter: number;
  /** The last valid second or block. */
  readonly validUntil: number;
};

const uint48Max = 2 ** 48 - 1;
/** Set in both ends of a window of blocks. */
const blockFlag = 2 ** 47;

/** Layout, from the lowest bit: authorizer 160 (0 valid, 1 failed), validUntil 48 (0: no end), validAfter 48. */
export function readValidationData(word: bigint, version: EntryPointVersion): ValidationData {
  const authorizer = word & ((1n << 160n) - 1n);
  const until = Number((word >> 160n) & BigInt(uint48Max));
  return {
    signature: authorizer === 0n ? 'valid' : authorizer === 1n ? 'failed' : toAddress(authorizer),
    validity: toValidity(Number(word >> 208n), until === 0 ? uint48Max : until, version),
  };
}

function toValidity(validAfter: number, validUntil: number, version: EntryPointVersion): Validity {
  const isBlocks =
    entryPointRules[version].readsBlockWindows && validAfter >= blockFlag && validUntil >= blockFlag;
  return isBlocks
    ? { unit: 'blocks', validAfter: validAfter - blockFlag, validUntil: validUntil - blockFlag }
    : { unit: 'seconds', validAfter, validUntil };
}

/** Whether an operation with this window can be mined in this block. */
export function isWithin(
  { unit, validAfter, validUntil }: Validity,
  block: { readonly number: number; readonly timestamp: number },
  version: EntryPointVersion,
): boolean {
  const now = unit === 'blocks' ? block.number : block.timestamp;
  const hasBegun = entryPointRules[version].startsAtValidAfter ? now >= validAfter : now > validAfter;
  return hasBegun && now <= validUntil;
}

function toAddress(authorizer: bigint): AddressKey {
  return addressKeyAt(`0x${authorizer.toString(16).padStart(40, '0')}`, 0);
}
