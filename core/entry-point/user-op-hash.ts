import type { Hex } from '../units/hex.js';
import type { HashPlace, UserOpHasher } from './rules.js';
import { entryPointRules } from './table.js';
import type { FinalUserOperation } from './user-operation.js';
import type { EntryPointVersion } from './version.js';

type HashTarget = HashPlace & { readonly version: EntryPointVersion };

/**
 * The EntryPoint's `getUserOpHash` with this `paymasterAndData`; undefined where {@link UserOpHasher} says so. Use
 * {@link userOpHasher} for many operations with one target.
 */
export function userOpHash(
  op: FinalUserOperation,
  paymasterAndData: Hex,
  target: HashTarget,
): Hex | undefined {
  return userOpHasher(target)(op, paymasterAndData);
}

/** {@link userOpHash}, with everything that depends on the target alone computed once. */
export function userOpHasher(target: HashTarget): UserOpHasher {
  return entryPointRules[target.version].hasher(target);
}
