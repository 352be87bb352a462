import { DomainError } from '../../core/errors.js';

// What callers of the usage store are told while Redis cannot be used: all of it is UNAVAILABLE.

export function full(message: string): DomainError {
  return new DomainError(
    'UNAVAILABLE',
    'the usage store is full: its Redis has reached maxmemory, and nothing is signed until reservations end or maxmemory is raised',
    { reason: 'USAGE_STORE_FULL', retryAfterSeconds: 10, cause: new Error(message) },
  );
}

export function down(message: string, cause?: string): DomainError {
  return new DomainError('UNAVAILABLE', message, {
    reason: 'USAGE_STORE_DOWN',
    retryAfterSeconds: 1,
    ...(cause === undefined ? {} : { cause: new Error(cause) }),
  });
}

/** Fewer replicas than asked for have the writes. */
export function unconfirmed(confirmed: number, replicas: number): DomainError {
  return new DomainError(
    'UNAVAILABLE',
    `the usage store cannot confirm its writes: ${confirmed} of ${replicas} replicas have them`,
    { reason: 'USAGE_STORE_UNCONFIRMED', retryAfterSeconds: 1 },
  );
}
