/** Every answer of the dashboard API. `data` is absent if the endpoint documents no data. */
export type Envelope = {
  readonly statusCode: number;
  readonly message: string;
  readonly data?: unknown;
  /** What the caller should know although the request has succeeded; absent: nothing. */
  readonly warnings?: readonly string[];
};

export function successEnvelope(message: string, data?: unknown, warnings: readonly string[] = []): Envelope {
  return {
    statusCode: 200,
    message,
    ...(data === undefined ? {} : { data }),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
}
