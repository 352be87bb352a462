import { errorCodes } from './error-codes.js';
import { errorReasons } from './error-reasons.js';
import type { DomainError } from './errors.js';
import { isRefusalReason, refusals } from './refusal.js';

type Published = {
  readonly reason: string;
  readonly message: string;
  /** What the caller can do about it. */
  readonly remedy?: string;
};

const failures = new Map<string, Omit<Published, 'reason'>>(
  Object.entries<{ readonly text: string; readonly remedy?: string }>(errorReasons).map(
    ([reason, { text, ...rest }]) => [reason, { message: text, ...rest }],
  ),
);

/**
 * What anyone may read of an error. The message of a failed dependency is for the log: it names hosts, databases, files and URLs. So callers get
 * the text of its reason in our tables, and nothing else of it.
 */
export function publishedError({ code, message, details }: DomainError): Published {
  const { remedy } = details;
  const reason: string = details.reason ?? code;
  if (code !== 'UNAVAILABLE') return { reason, message, ...(remedy === undefined ? {} : { remedy }) };
  const failure = failures.get(reason);
  if (failure !== undefined) return { reason, ...failure };
  if (isRefusalReason(reason)) return { reason, message: refusals[reason].text };
  return { reason: code, message: errorCodes.UNAVAILABLE.rest.message };
}
