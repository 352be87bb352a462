import { DomainError, isDomainError } from '../../core/errors.js';
import { recover, type Later } from '../../core/pending.js';
import { entryPointRules } from '../../core/entry-point/table.js';
import { isObject } from '../../core/schema/json-value.js';
import type { ServedProfile } from '../view/served-chain.js';

/**
 * In the form with a mode object a request names no EntryPoint. An operation that was made for 0.6 and comes to a paymaster of a later
 * one fails in its simulation, and what the EntryPoint answers would not tell its sender why. Throws or rejects as `ask`.
 */
export function namingEntryPoint<T>(
  { entryPoint, entryPointVersion }: ServedProfile,
  operation: unknown,
  ask: () => Later<T>,
): Later<T> {
  return recover(ask, (error): never => {
    const { hasPaymasterFields } = entryPointRules[entryPointVersion].form;
    if (!isDomainError(error, 'ESTIMATION_FAILED') || !hasPaymasterFields || !isOfFirstForm(operation))
      throw error;
    throw new DomainError(
      error.code,
      `${error.message} (the operation has the form of EntryPoint 0.6, and this paymaster is for ${entryPointVersion}, ${entryPoint}: an account of another EntryPoint fails here)`,
      error.details,
    );
  });
}

function isOfFirstForm(operation: unknown): boolean {
  if (!isObject(operation)) return false;
  const isGiven = (name: string): boolean => operation[name] !== undefined && operation[name] !== null;
  return (
    (isGiven('initCode') || isGiven('paymasterAndData')) &&
    !['factory', 'paymaster', 'accountGasLimits', 'gasFees'].some(isGiven)
  );
}
