/** A Kubernetes API answer other than 2xx, or no answer (status 0). Decide by class and code, never by text. */
export class KubeApiError extends Error {
  /** HTTP status; 0 when the server could not be reached or did not answer in time. */
  readonly status: number;
  /** `Status.reason`, e.g. `Expired`, `AlreadyExists`; empty when the body was no Status. */
  readonly reason: string;
  readonly causes: readonly { readonly reason: string; readonly field: string; readonly message: string }[];
  /** Seconds that the server asks to wait, from `Retry-After` or `details.retryAfterSeconds`. */
  readonly retryAfterSeconds: number | undefined;
  /** As it came: a pod that is asked through the API server answers with a status and a body of its own. */
  readonly body: unknown;

  constructor(options: {
    status: number;
    reason: string;
    message: string;
    causes?: KubeApiError['causes'];
    retryAfterSeconds?: number | undefined;
    body?: unknown;
    cause?: unknown;
  }) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'KubeApiError';
    this.status = options.status;
    this.reason = options.reason;
    this.causes = options.causes ?? [];
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.body = options.body;
  }
}

/** No answer that can be used: nothing was sent, nothing came back, or something else than JSON. */
export function noAnswer(reason: string, message: string, cause?: unknown): KubeApiError {
  return new KubeApiError({ status: 0, reason, message, cause });
}

/** The requested resourceVersion is compacted away: list again. */
export function isExpired(error: unknown): boolean {
  return (
    error instanceof KubeApiError &&
    (error.status === 410 || error.reason === 'Expired' || error.reason === 'Gone')
  );
}

/** The server's cache has not reached the requested resourceVersion, or never will (an older etcd was restored). */
export function isTooLargeResourceVersion(error: unknown): boolean {
  return (
    error instanceof KubeApiError &&
    error.status === 504 &&
    error.causes.some((cause) => cause.reason === 'ResourceVersionTooLarge')
  );
}

export function isStatus(error: unknown, ...statuses: readonly number[]): error is KubeApiError {
  return error instanceof KubeApiError && statuses.includes(error.status);
}

/** The error that a `Status` body or ERROR watch event describes. */
export function errorOfStatus(status: number, body: unknown, retryAfter?: string): KubeApiError {
  const record = asRecord(body);
  const details = asRecord(record['details']);
  const causes = Array.isArray(details['causes']) ? details['causes'].map(asRecord) : [];
  const seconds = Number(retryAfter ?? details['retryAfterSeconds']);
  return new KubeApiError({
    status,
    reason: text(record['reason']),
    message: text(record['message']) || `the API server answered ${status}`,
    causes: causes.map((cause) => ({
      reason: text(cause['reason']),
      field: text(cause['field']),
      message: text(cause['message']),
    })),
    retryAfterSeconds: Number.isFinite(seconds) && seconds > 0 ? seconds : undefined,
    body,
  });
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
