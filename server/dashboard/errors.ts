import { errorCodes, findRestRow } from '../../core/error-codes.js';
import { DomainError, isDomainError } from '../../core/errors.js';
import { given } from '../../core/units/given.js';
import type { Endpoint } from './endpoint.js';

/** A missing or unacceptable header. */
export function credentialsRequired({ scope, namesBothHeaders }: Endpoint): DomainError {
  return new DomainError(
    'CREDENTIALS_REQUIRED',
    scope !== 'paymaster' && namesBothHeaders !== true
      ? 'Auth token is required in the headers'
      : 'Auth token and API key is required in the headers',
  );
}

/** What a thrown value becomes on the wire; anything but a DomainError becomes an internal error that does not reveal its cause. */
export function renderError(error: unknown) {
  const known = isDomainError(error) ? error : fromHttpError(error);
  const code = known?.code ?? 'INTERNAL';
  const row = findRestRow(code);
  const message = row.message ?? known?.message ?? '';
  const retryAfterSeconds = known?.details.retryAfterSeconds ?? row.retryAfterSeconds;
  return {
    status: row.status,
    envelope: {
      statusCode: row.bodyStatus ?? row.status,
      message,
    },
    /** The same as the endpoints beyond the service document say it: RFC 9457. */
    problem: {
      title: errorCodes[code].text,
      status: row.status,
      detail: message,
      code,
      ...given({
        /** To be committed where the owner of a field keeps its manifests. */
        manifest: known?.details.manifest,
        /** What is wrong, by field. */
        errors: known?.details.problems?.map(({ expected, ...rest }) => ({ ...rest, mustBe: expected })),
      }),
    },
    /** For the `Retry-After` header. */
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
