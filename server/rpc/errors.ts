import { given } from '../../core/units/given.js';
import { DomainError, isDomainError, type ErrorCode } from '../../core/errors.js';

/** How an error looks outside: JSON-RPC code, HTTP status of a single call, and whether the same request may succeed later. */
export type RpcErrorRow = { readonly code: number; readonly status: number; readonly retryable: boolean };

const invalidParams = { code: -32602, status: 400, retryable: false } as const;
const internal = { code: -32603, status: 400, retryable: true } as const;

/**
 * The published table of JSON-RPC errors. HTTP 400 rather than 200 or 5xx: the vendor's SDK drops the message of a 2xx
 * answer, and viem repeats a request after a 5xx answer. Error codes of the dashboard are never published here: they
 * become internal errors.
 */
export const rpcErrors = {
  RPC_PARSE_ERROR: { code: -32700, status: 400, retryable: false },
  RPC_INVALID_REQUEST: { code: -32600, status: 400, retryable: false },
  RPC_METHOD_NOT_FOUND: { code: -32601, status: 400, retryable: false },
  INVALID_INPUT: invalidParams,
  CHAIN_MISMATCH: invalidParams,
  MODE_NOT_AVAILABLE: invalidParams,
  FEE_TOKEN_REQUIRED: invalidParams,
  FEE_TOKEN_UNSUPPORTED: invalidParams,
  PAYLOAD_TOO_LARGE: { code: -32600, status: 413, retryable: false },
  KEY_UNKNOWN: { code: -32001, status: 401, retryable: false },
  CREDENTIALS_REQUIRED: { code: -32001, status: 401, retryable: false },
  UNAVAILABLE: { code: -32003, status: 400, retryable: true },
  ESTIMATION_FAILED: { code: -32004, status: 400, retryable: false },
  RATE_LIMITED: { code: -32005, status: 429, retryable: true },
  PAYMASTER_NOT_READY: { code: -32006, status: 400, retryable: true },
  // For refusals that are errors: in mode ERC20, and in the ERC-7677 forms (ERC-7769: "paymaster rejected").
  SPONSORSHIP_REFUSED: { code: -32501, status: 400, retryable: false },
  INTERNAL: internal,
  NOT_FOUND: internal,
  ALREADY_EXISTS: internal,
  WRITE_CONFLICT: internal,
  FIELD_OWNED: internal,
  PAYMASTER_NAME_EXISTS: internal,
  CHAIN_NOT_SUPPORTED: internal,
  VERSION_NOT_SUPPORTED: internal,
  CONTRACT_EXISTS: internal,
  CONTRACT_NOT_FOUND: internal,
  METHODS_NOT_AN_ARRAY: internal,
  POLICY_NOT_FOUND: internal,
  POLICY_KIND_MISMATCH: internal,
  INVALID_SIGNATURE: internal,
  USER_NOT_FOUND: internal,
  QUOTA_EXCEEDED: internal,
  LEDGER_OFF: internal,
  REPLAYS_BUSY: internal,
} as const satisfies Record<ErrorCode, RpcErrorRow>;

/** One failed call, ready to be written: `body` is the JSON text of the `error` member. */
export type RenderedError = {
  readonly body: string;
  readonly status: number;
  readonly reason: string;
  readonly retryAfterSeconds?: number;
  /** True for our own faults, which are logged in full; their message is not sent to the client. */
  readonly fault: boolean;
};

/** Renders what a handler threw. An error that is not a DomainError, or whose code this edge does not publish, does not reveal its cause. */
export function renderError(error: unknown, requestId: string): RenderedError {
  if (!isDomainError(error) || rpcErrors[error.code] === internal) return renderFault(requestId);
  const row = rpcErrors[error.code];
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
