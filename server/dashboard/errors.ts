import { errorCodes, restRowOf, type ErrorCode } from '../../core/error-codes.js';
import { DomainError, isDomainError } from '../../core/errors.js';
import { given } from '../../core/units/given.js';
import type { Endpoint } from './endpoint.js';
import type { Envelope } from './send.js';

/** What an error becomes on the wire. */
type ErrorReply = {
  readonly status: number;
  readonly envelope: Envelope;
  /** The same as the endpoints beyond the service document say it. */
  readonly problem: ProblemBody;
  /** Seconds for the `Retry-After` header. */
  readonly retryAfterSeconds?: number;
};

/** RFC 9457. */
type ProblemBody = {
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  /** To be committed where the owner of a field keeps its manifests. */
  readonly manifest?: string;
  /** What is wrong, by field. */
  readonly errors?: readonly { readonly field: string; readonly mustBe: string; readonly value?: string }[];
};

/** A missing or unacceptable header. */
export function credentialsRequired({ scope, namesBothHeaders }: Endpoint): DomainError {
  return new DomainError(
    'CREDENTIALS_REQUIRED',
    scope !== 'paymaster' && namesBothHeaders !== true
      ? 'Auth token is required in the headers'
      : 'Auth token and API key is required in the headers',
  );
}

/** Maps any thrown value; anything but a DomainError becomes an internal error that does not reveal its cause. */
export function renderError(error: unknown): ErrorReply {
  const known = isDomainError(error) ? error : fromHttpError(error);
  const code = known?.code ?? 'INTERNAL';
  const row = restRowOf(code);
  const message = row.message ?? known?.message ?? '';
  const retryAfterSeconds = known?.details.retryAfterSeconds ?? row.retryAfterSeconds;
  return {
    status: row.status,
    envelope: {
      statusCode: row.bodyStatus ?? row.status,
      message,
    },
    problem: {
      title: errorCodes[code].text,
      status: row.status,
      detail: message,
      code,
      ...given({
        manifest: known?.details.manifest,
        errors: known?.details.problems?.map(({ expected, ...rest }) => ({ ...rest, mustBe: expected })),
      }),
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
