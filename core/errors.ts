import type { ErrorCode } from './error-codes.js';
import type { ErrorReason, OtherReason } from './error-reasons.js';

/** One wrong field of an input. `value` is the quoted input for people: shortened, and never a secret. */
export type Problem = { readonly field: string; readonly expected: string; readonly value?: string };

/** A call that the account would make, as refusals name it. */
export type RefusedCall = {
  /** Its place in the batch, from 0; absent when the batch was not decoded so far. */
  readonly index?: number;
  readonly target: string;
  /** First four bytes of its data, which name the method; `0x` without data. */
  readonly selector: string;
};

type ErrorDetails = {
  readonly problems?: readonly Problem[];
  /** Machine-readable reason, published with the code: `data.reason` of JSON-RPC errors. */
  readonly reason?: ErrorReason | OtherReason;
  /** The exact cause, for the log only. */
  readonly detail?: string;
  /** What an explanation says to the owner instead of the message, which strangers get: it may name his rules. */
  readonly forOwner?: string;
  /** The reason that a webhook host gave for its refusal; published with the code. */
  readonly webhookReason?: string;
  /** Why there is no payment in tokens either; published with the code. */
  readonly otherwise?: string;
  /** The mode in which another request may pass; published with the code. */
  readonly retry?: 'ERC20';
  /** The call that was refused; published with the code. */
  readonly call?: RefusedCall;
  /** What the caller can do about it; published with the code. */
  readonly remedy?: string;
  /** The error of a bundler (BUNDLER_REFUSED), without its message; published as it is. */
  readonly bundler?: { readonly code: number; readonly data?: unknown };
  /** Seconds after which the same request may succeed; absent when a retry is pointless. */
  readonly retryAfterSeconds?: number;
  /** Who owns the field that could not be written (FIELD_OWNED). */
  readonly owner?: string;
  /** Fields that the owner of a field would write (FIELD_OWNED), as YAML. */
  readonly manifest?: string;
  readonly cause?: unknown;
};

/** An expected failure. Each edge maps it once by its code. */
export class DomainError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'DomainError';
    this.code = code;
    this.details = details;
  }
}

/**
 * More than any form has fields. Without a bound, the answer to a long list of wrong entries would be many times as
 * large as the list.
 */
export const maxProblems = 50;

/**
 * Reports every problem of an input together, at most the first fifty:
 * `cycleDuration.unit must be "hour" or "day", got "week"`.
 */
export function invalidInput(problems: Problem | readonly Problem[]): DomainError {
  const all = [problems].flat();
  const named = all.slice(0, maxProblems);
  const sentences = named.map(formatProblem);
  if (all.length > named.length) sentences.push('and more');
  return new DomainError('INVALID_INPUT', sentences.join('; '), { problems: named });
}

/** Throws {@link invalidInput} where there is a problem. */
export function throwIfAny(problems: readonly Problem[]): void {
  if (problems.length > 0) throw invalidInput(problems);
}

/** A field that someone else owns, and the owner's field manager. */
export type OwnedField = { readonly field: string; readonly manager: string };

/**
 * FIELD_OWNED with the same text for every store that refuses the write; `what` names the object, e.g.
 * `Paymaster acme/shop`.
 */
export function fieldOwned(what: string, conflicts: readonly OwnedField[], cause?: unknown): DomainError {
  const owners = [...new Set(conflicts.map(({ manager }) => manager))];
  const fields = conflicts.map(({ field, manager }) => `${field} is owned by "${manager}"`).join('; ');
  return new DomainError('FIELD_OWNED', `${what}: ${fields}`, {
    owner: owners.join(', '),
    problems: conflicts.map(({ field, manager }) => ({
      field,
      expected: `changed by its owner "${manager}"`,
    })),
    cause,
  });
}

export function formatProblem({ field, expected, value }: Problem): string {
  return `${field} must be ${expected}${value === undefined ? '' : `, got ${value}`}`;
}

const maxQuotedLength = 80;

/** Short JSON of an untrusted value for a message: at most 80 characters. */
export function quote(value: unknown): string {
  const text = quoteValue(value);
  return text.length > maxQuotedLength ? `${text.slice(0, 77)}...` : text;
}

function quoteValue(value: unknown): string {
  if (typeof value === 'bigint') return value.toString();
  // Callers send long ones, of which only the beginning is shown.
  if (typeof value === 'string') return JSON.stringify(value.slice(0, maxQuotedLength));
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    // Nested deeper than the stack allows: parsers can read such input, but recursive writers cannot.
    return 'a value nested too deep to show';
  }
}

export function isDomainError(error: unknown, code?: ErrorCode): error is DomainError {
  return error instanceof DomainError && (code === undefined || error.code === code);
}

/** The message of a thrown value, which need not be an Error. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Closes an exhaustive switch; reaching it is a programming error. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}

/** The answer; undefined when it fails because something is UNAVAILABLE. */
export async function unlessUnavailable<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isDomainError(error, 'UNAVAILABLE')) return undefined;
    throw error;
  }
}
