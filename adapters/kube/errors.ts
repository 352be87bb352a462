import { DomainError, fieldOwned, invalidInput, type Problem } from '../../core/errors.js';
import { KubeApiError } from './api-error.js';

/**
 * Maps Kubernetes failures to the errors of the store ports, never to a raw Status. `what` names the object for people,
 * e.g. `Paymaster quickstart/shop`.
 */
export function toDomainError(error: unknown, what: string): DomainError {
  if (!(error instanceof KubeApiError)) {
    return new DomainError('INTERNAL', `${what} could not be read or written`, { cause: error });
  }
  switch (error.status) {
    case 404:
      return new DomainError('NOT_FOUND', `${what} does not exist`, { cause: error });
    case 409:
      return conflict(error, what);
    case 400:
    case 422:
      return invalid(error, what);
    case 403:
      // A ResourceQuota answers 403, like missing RBAC. Only the quota concerns the caller.
      if (error.message.includes('exceeded quota')) {
        return new DomainError('QUOTA_EXCEEDED', `${what}: the namespace has used up a ResourceQuota`, {
          cause: error,
        });
      }
      return unavailable(error, what, 'the API server denied access: check the RBAC of this component');
    case 500:
      // Server-side apply answers an unknown field with a plain 500; no code identifies it.
      if (error.message.includes('field not declared in schema')) return invalid(error, what);
      return unavailable(error, what, 'the API server did not answer as expected');
    default:
      return unavailable(error, what, 'the API server did not answer as expected');
  }
}

/** What `run` answers; its Kubernetes failures as {@link toDomainError} maps them. */
export async function mapErrors<T>(what: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw toDomainError(error, what);
  }
}

/** Somebody else has made, changed or deleted the object meanwhile. */
export function isRace(error: unknown): boolean {
  return error instanceof DomainError && races.has(error.code);
}

const races: ReadonlySet<string> = new Set(['WRITE_CONFLICT', 'ALREADY_EXISTS', 'NOT_FOUND']);

/** As {@link mapErrors}, for a whole collection: a 404 says that its definition is gone, which an installation brings back. */
export function mapListErrors<T>(what: string, run: () => Promise<T>): Promise<T> {
  return mapErrors(what, run).catch((error: unknown) => {
    if (!(error instanceof DomainError) || !(error.cause instanceof KubeApiError)) throw error;
    if (error.code !== 'NOT_FOUND') throw error;
    throw unavailable(error.cause, what, 'the API server does not know this kind: install the definitions');
  });
}

function conflict(error: KubeApiError, what: string): DomainError {
  if (error.reason === 'AlreadyExists')
    return new DomainError('ALREADY_EXISTS', `${what} exists`, { cause: error });
  const owned = error.causes.filter((cause) => cause.reason === 'FieldManagerConflict');
  if (owned.length === 0)
    return new DomainError('WRITE_CONFLICT', `${what} was changed meanwhile`, { cause: error });
  const conflicts = owned.map(({ field, message }) => ({
    field: field.replace(/^\./, ''),
    manager: /conflict with "([^"]+)"/.exec(message)?.[1] ?? 'another manager',
  }));
  return fieldOwned(what, conflicts, error);
}

function invalid(error: KubeApiError, what: string): DomainError {
  const problems: Problem[] = error.causes.map((cause) => ({
    field: cause.field || what,
    expected: cause.message,
  }));
  return problems.length > 0
    ? invalidInput(problems)
    : new DomainError('INVALID_INPUT', `${what}: ${error.message}`, {
        problems: [{ field: what, expected: error.message }],
        cause: error,
      });
}

function unavailable(error: KubeApiError, what: string, why: string): DomainError {
  return new DomainError('UNAVAILABLE', `${what}: ${why}`, {
    retryAfterSeconds: error.retryAfterSeconds ?? 1,
    reason: 'KUBERNETES_API',
    cause: error,
  });
}
