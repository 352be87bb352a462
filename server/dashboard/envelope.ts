/** Every answer of the dashboard API. `data` is absent where the endpoint documents none. */
export type Envelope = {
  readonly statusCode: number;
  readonly message: string;
  readonly data?: unknown;
};

export function successEnvelope(message: string, data?: unknown): Envelope {
  return { statusCode: 200, message, ...(data === undefined ? {} : { data }) };
}
