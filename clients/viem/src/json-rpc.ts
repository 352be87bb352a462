import { ConnectionError, toPaymasterError, type ErrorFacts, type PaymasterError } from './errors.js';

/** Where and how requests are sent. */
export type Endpoint = {
  readonly url: string;
  readonly timeoutMs: number;
  readonly headers: Readonly<Record<string, string>>;
};

/**
 * One call. Throws a {@link PaymasterError}: of the class that the answer's reason asks for, or ConnectionError. It repeats
 * nothing, because every signed answer is a promise that counts against a limit.
 */
export async function call(endpoint: Endpoint, method: string, params: readonly unknown[]): Promise<unknown> {
  const body = await post(endpoint, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), method);
  if (isRecord(body) && isRecord(body['error'])) throw readError(body['error']);
  if (isRecord(body) && 'result' in body) return body['result'];
  throw unreachable(`${method}: the answer is not JSON-RPC`, undefined);
}

async function post({ url, timeoutMs, headers }: Endpoint, body: string, method: string): Promise<unknown> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
      signal: AbortSignal.timeout(timeoutMs),
    });
    // Errors come under several statuses, always with a JSON-RPC body.
    return await response.json();
  } catch (cause) {
    throw unreachable(`${method}: no answer of the paymaster service`, cause);
  }
}

/** The URL holds the apiKey, so no message quotes it. */
function unreachable(message: string, cause: unknown): PaymasterError {
  return new ConnectionError(message, { code: -32_603, reason: 'NO_ANSWER', retryable: true }, { cause });
}

function readError(error: Readonly<Record<string, unknown>>): PaymasterError {
  const data = isRecord(error['data']) ? error['data'] : {};
  const { requestId, retryAfterSeconds, call: refused } = data;
  const facts: ErrorFacts = {
    code: typeof error['code'] === 'number' ? error['code'] : -32_603,
    reason: typeof data['reason'] === 'string' ? data['reason'] : 'UNKNOWN',
    retryable: data['retryable'] === true,
    ...(typeof requestId === 'string' ? { requestId } : {}),
    ...(typeof retryAfterSeconds === 'number' ? { retryAfterSeconds } : {}),
    ...(isRefusedCall(refused) ? { call: refused } : {}),
  };
  return toPaymasterError(typeof error['message'] === 'string' ? error['message'] : 'unknown error', facts);
}

function isRefusedCall(value: unknown): value is NonNullable<ErrorFacts['call']> {
  return isRecord(value) && typeof value['index'] === 'number' && typeof value['target'] === 'string';
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
