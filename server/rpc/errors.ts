import { given } from '../../core/units/given.js';
import { errorCodes, rpcRows } from '../../core/error-codes.js';
import { isDomainError, type DomainError } from '../../core/errors.js';
import { publishedError } from '../../core/published-error.js';

const internal = errorCodes.INTERNAL.rpc;

/** One failed call, ready to be written: `body` is the JSON text of the `error` member. */
type RenderedError = {
  readonly body: string;
  readonly status: number;
  readonly reason: string;
  readonly retryAfterSeconds?: number;
  /** True for our own faults, which are logged in full; their message is not sent to the client. */
  readonly fault: boolean;
};

/** Renders what a handler threw. An error that is not a DomainError, or whose code this edge does not publish, does not reveal its cause. */
export function renderError(error: unknown, requestId: string, suffix = ''): RenderedError {
  const row = isDomainError(error) && error.code !== 'INTERNAL' ? rpcRows.get(error.code) : undefined;
  if (!isDomainError(error) || row === undefined) return renderFault(requestId);
  const { reason, message, remedy } = publishedError(error);
  const text = message + suffix;
  const { bundler } = error.details;
  const data = bundler?.data ?? { reason, requestId, retryable: row.retryable, ...extras(error, remedy) };
  const { retryAfterSeconds } = error.details;
  // Most clients show their users the message alone.
  const shown = remedy === undefined ? text : `${text}${text.endsWith('.') ? '' : '.'} ${remedy}`;
  return {
    body: JSON.stringify({ code: bundler?.code ?? row.code, message: shown, data }),
    status: row.status,
    reason,
    fault: false,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}

/**
 * A refusal for wallets' libraries, which show their users the message and nothing else of an error: so the message
 * also names the request, by which people on call find its log line.
 */
export function renderRefusal(error: DomainError, requestId: string): RenderedError {
  return renderError(error, requestId, ` Request ${requestId}.`);
}

function renderFault(requestId: string): RenderedError {
  const data = { reason: 'INTERNAL', requestId, retryable: internal.retryable };
  const message = 'Internal error. Quote the requestId to the operator of this service.';
  return {
    body: JSON.stringify({ code: internal.code, message, data }),
    status: internal.status,
    reason: 'INTERNAL',
    fault: true,
  };
}

function extras({ details }: DomainError, remedy: string | undefined): object {
  return {
    ...given({
      problems: details.problems,
      webhookReason: details.webhookReason,
      call: details.call,
      otherwise: details.otherwise,
      retry: details.retry,
      remedy,
    }),
    ...given({ retryAfterSeconds: details.retryAfterSeconds }),
  };
}
