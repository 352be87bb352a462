import { DomainError, isDomainError, type ErrorCode } from '../../core/errors.js';
import type { Endpoint } from './endpoint.js';
import type { Envelope } from './envelope.js';

/** What an error becomes on the wire. */
export type ErrorReply = {
  readonly status: number;
  readonly envelope: Envelope;
  /** Seconds for the `Retry-After` header. */
  readonly retryAfterSeconds?: number;
};

/** Fixed messages come from the service document; a row without one publishes the error's own message. */
type Row = {
  readonly status: number;
  /** `statusCode` of the body where the service document shows one that differs from the HTTP status. */
  readonly bodyStatus?: number;
  readonly message?: string;
  readonly retryAfterSeconds?: number;
};

const internal: Row = { status: 500, message: 'Internal error' };

/** The only place where error codes become HTTP answers; messages and odd statuses come from the service document. */
const errorRows = {
  INVALID_INPUT: { status: 400 },
  NOT_FOUND: { status: 404 },
  ALREADY_EXISTS: { status: 400 },
  WRITE_CONFLICT: {
    status: 503,
    message: 'The resource is being changed by others, try again',
    retryAfterSeconds: 1,
  },
  FIELD_OWNED: { status: 409 },
  PAYLOAD_TOO_LARGE: { status: 413 },
  RATE_LIMITED: { status: 429, message: 'Too many requests, try again later', retryAfterSeconds: 1 },
  UNAVAILABLE: {
    status: 503,
    message: 'The service is temporarily unavailable, try again',
    retryAfterSeconds: 1,
  },
  INTERNAL: internal,
  CREDENTIALS_REQUIRED: { status: 401 },
  PAYMASTER_NAME_EXISTS: { status: 400, message: 'paymaster_name_exists' },
  CHAIN_NOT_SUPPORTED: { status: 400, message: 'Chain ID not supported' },
  VERSION_NOT_SUPPORTED: { status: 400 },
  CONTRACT_EXISTS: { status: 400, message: 'Smart contract address already exists' },
  // "The body's `statusCode` is shown as 400" under HTTP 404: documented so, and read by clients.
  CONTRACT_NOT_FOUND: { status: 404, bodyStatus: 400, message: 'Smart contract not found' },
  METHODS_NOT_AN_ARRAY: { status: 400, message: 'whitelistedMethods must be an array' },
  POLICY_NOT_FOUND: { status: 404, message: 'Paymaster Policy not found' },
  POLICY_KIND_MISMATCH: { status: 400 },
  INVALID_SIGNATURE: { status: 400, message: 'Invalid signature' },
  USER_NOT_FOUND: { status: 404, message: 'User not found' },
  QUOTA_EXCEEDED: { status: 400 },
  LEDGER_OFF: { status: 501 },
  REPLAYS_BUSY: { status: 429, retryAfterSeconds: 5 },
  // Codes of the JSON-RPC edge: nothing here throws them.
  RPC_PARSE_ERROR: internal,
  RPC_INVALID_REQUEST: internal,
  RPC_METHOD_NOT_FOUND: internal,
  KEY_UNKNOWN: internal,
  CHAIN_MISMATCH: internal,
  MODE_NOT_AVAILABLE: internal,
  FEE_TOKEN_REQUIRED: internal,
  FEE_TOKEN_UNSUPPORTED: internal,
  ESTIMATION_FAILED: internal,
  SPONSORSHIP_REFUSED: internal,
  PAYMASTER_NOT_READY: internal,
} as const satisfies Record<ErrorCode, Row>;

/** A missing or unacceptable header. */
export function credentialsRequired({ scope, namesBothHeaders }: Endpoint): DomainError {
  return new DomainError(
    'CREDENTIALS_REQUIRED',
    scope === 'organisation' && namesBothHeaders !== true
      ? 'Auth token is required in the headers'
      : 'Auth token and API key is required in the headers',
  );
}

/** Maps any thrown value; anything but a DomainError becomes an internal error that does not reveal its cause. */
export function renderError(error: unknown): ErrorReply {
  const known = isDomainError(error) ? error : fromHttpError(error);
  const row: Row = known ? errorRows[known.code] : internal;
  const retryAfterSeconds = known?.details.retryAfterSeconds ?? row.retryAfterSeconds;
  return {
    status: row.status,
    envelope: {
      statusCode: row.bodyStatus ?? row.status,
      message: row.message ?? known?.message ?? 'Internal error',
    },
    ...(row.retryAfterSeconds === undefined || retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}

/** Errors of the HTTP framework: a body over the limit, an unknown content encoding, a path that does not decode. */
function fromHttpError(error: unknown): DomainError | undefined {
  if (!(error instanceof Error) || !('status' in error) || typeof error.status !== 'number') return undefined;
  if (error.status === 413)
    return new DomainError('PAYLOAD_TOO_LARGE', 'The body is larger than 1 MiB', { cause: error });
  if (error.status === 415)
    return new DomainError('INVALID_INPUT', 'Content-Encoding must be identity, gzip, deflate or br', {
      cause: error,
    });
  if (error.status >= 400 && error.status < 500)
    return new DomainError('INVALID_INPUT', 'The request could not be read', { cause: error });
  return undefined;
}
