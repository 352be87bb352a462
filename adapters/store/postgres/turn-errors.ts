import { DomainError, isDomainError } from '../../../core/errors.js';
import { findSqlState } from '../../postgres/pipeline.js';

// SQLSTATEs, as far as a turn behaves differently after them.

/** The turn did not happen, and may work the next time: deadlock, lock or statement timeout, idle too long, read-only. */
export const passing = new Set(['40P01', '40001', '55P03', '57014', '25P03', '25P02']);
/** A value that the database does not take. Not 23514: a table of the ledger has no part for the day. */
export const valueErrors = /^(22|23(?!514)|54)/;
const diskFull = '53100';

/** Thrown by an attempt that changed nothing and may be made again. */
export class Again extends Error {
  readonly locks: readonly string[];
  readonly isAlone: boolean;
  constructor(
    why: string,
    {
      locks = [],
      isAlone = false,
      cause,
    }: { readonly locks?: readonly string[]; readonly isAlone?: boolean; readonly cause?: unknown } = {},
  ) {
    super(why, { cause });
    this.locks = locks;
    this.isAlone = isAlone;
  }
}

export function unavailable(cause: unknown): DomainError {
  if (findSqlState(cause) === diskFull)
    return new DomainError(
      'UNAVAILABLE',
      'the usage store is full: the disk of PostgreSQL has no space left',
      {
        cause,
        reason: 'USAGE_STORE_FULL',
        retryAfterSeconds: 10,
      },
    );
  return new DomainError('UNAVAILABLE', 'the usage store in PostgreSQL does not answer', {
    cause,
    reason: 'USAGE_STORE_DOWN',
    retryAfterSeconds: 1,
  });
}

/** By which failures of turns are told apart in the log. */
export function failureCause(error: unknown): string {
  return findSqlState(error) ?? (isDomainError(error) ? error.details.reason : undefined) ?? 'other';
}
