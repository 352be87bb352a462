import { given } from '../../core/units/given.js';
import { errorCodes, rpcRows } from '../../core/error-codes.js';
import { DomainError, isDomainError } from '../../core/errors.js';

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
export function renderError(error: unknown, requestId: string): RenderedError {
  const row = isDomainError(error) && error.code !== 'INTERNAL' ? rpcRows.get(error.code) : undefined;
  if (!isDomainError(error) || row === undefined) return renderFault(requestId);
  const reason = error.details.reason ?? error.code;
  const data = { reason, requestId, retryable: row.retryable, ...extras(error) };
  const { retryAfterSeconds, remedy } = error.details;
  // Most clients show their users the message alone.
  const message = remedy === undefined ? error.message : `${error.message}. ${remedy}`;
  return {
    body: JSON.stringify({ code: row.code, message, data }),
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
  return renderError(
    new DomainError(error.code, `${error.message} Request ${requestId}.`, error.details),
    requestId,
  );
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

function extras({ details }: DomainError): object {
  return {
    ...given({
      problems: details.problems,
      webhookReason: details.webhookReason,
      call: details.call,
      remedy: details.remedy,
    }),
    ...given({ retryAfterSeconds: details.retryAfterSeconds }),
  };
}
