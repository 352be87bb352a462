/**
 * Why a call to a remote signer gave no signature:
 * - `refused`: certainly none was made, and asking again is of no use (no right, no such key);
 * - `throttled`: certainly none was made, because others ask too much;
 * - `unreached`: certainly none was made, because the signer was never asked;
 * - `unclear`: one may have been made.
 */
export type CallFailure = 'refused' | 'throttled' | 'unreached' | 'unclear';

/** The message is for people, names no secret, and is the same each time. */
export class CallFailed extends Error {
  readonly failure: CallFailure;

  constructor(failure: CallFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CallFailed';
    this.failure = failure;
  }
}

/** Whatever else was thrown leaves open what has happened. */
export function callFailedBy(error: unknown): CallFailed {
  if (error instanceof CallFailed) return error;
  return new CallFailed('unclear', 'the call failed in a way that is not known', { cause: error });
}

/** What an HTTP status says, unless a service says more. */
export function failureOfStatus(status: number): CallFailure {
  if (status === 429) return 'throttled';
  return status >= 500 ? 'unclear' : 'refused';
}
