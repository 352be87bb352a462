import { asReason } from '../../core/error-reasons.js';
import type { ErrorCode } from '../../core/error-codes.js';
import { DomainError, isDomainError, errorMessage } from '../../core/errors.js';

/** A DomainError as data, between threads; what is not one is a bug, and says so by its code. */
export type PlainError = {
  readonly code: ErrorCode;
  readonly message: string;
  readonly reason?: string;
  readonly retryAfterSeconds?: number;
};

export function plainError(error: unknown): PlainError {
  if (!isDomainError(error)) return { code: 'INTERNAL', message: errorMessage(error) };
  const { code, message, details } = error;
  const { reason, retryAfterSeconds } = details;
  return {
    code,
    message,
    ...(reason !== undefined && { reason }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  };
}

export function toDomainError({ code, message, reason, ...details }: PlainError): DomainError {
  return new DomainError(code, message, {
    ...details,
    ...(reason !== undefined && { reason: asReason(reason) }),
  });
}
