import { reasonOf } from '../../../core/error-reasons.js';
import { DomainError, isDomainError, messageOf, type ErrorCode } from '../../../core/errors.js';
import type { LedgerFiles } from './ledger-files.js';

/** Messages between the ledger and its worker: plain data, so that they can be cloned. */
export type Method = Exclude<keyof LedgerFiles, 'close'>;
export type Arguments<Name extends Method> = Parameters<LedgerFiles[Name]>;
export type Result<Name extends Method> = ReturnType<LedgerFiles[Name]>;

export type Request = {
  readonly call: number;
  readonly method: Method | 'close';
  readonly arguments: readonly unknown[];
};

/** `call` 0 says how opening the files went, with those that were set aside. */
export type Answer =
  { readonly call: number; readonly value: unknown } | { readonly call: number; readonly error: PlainError };

/** A DomainError as data; what is not one is a bug, and says so by its code. */
export type PlainError = {
  readonly code: ErrorCode;
  readonly message: string;
  readonly reason?: string;
  readonly retryAfterSeconds?: number;
};

export function plainError(error: unknown): PlainError {
  if (!isDomainError(error)) return { code: 'INTERNAL', message: messageOf(error) };
  const { code, message, details } = error;
  const { reason, retryAfterSeconds } = details;
  return {
    code,
    message,
    ...(reason !== undefined && { reason }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  };
}

export function errorOf({ code, message, reason, ...details }: PlainError): DomainError {
  return new DomainError(code, message, {
    ...details,
    ...(reason !== undefined && { reason: reasonOf(reason) }),
  });
}
