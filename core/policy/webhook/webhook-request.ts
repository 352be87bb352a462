import { isObject } from '../../schema/json-value.js';
import { createHmac } from 'node:crypto';
import type { WebhookConfig } from './schema.js';
import type { EpochSeconds } from '../../units/time.js';

/** What is sent to one webhook. */
export type RenderedWebhook = {
  readonly method: 'POST' | 'GET';
  /** Request target: path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined for GET. */
  readonly body: Uint8Array | undefined;
};

type RenderInput = {
  readonly webhook: WebhookConfig;
  readonly data: unknown;
  /** {@link encodeBody}; called for a POST only. */
  readonly body: () => Uint8Array;
  readonly requestId: string;
  readonly isTest?: boolean;
  /** The policy's signing key as its owner received it at creation: the text itself is the HMAC key. */
  readonly signingKey: string;
  /** While a key is being rotated: the new key. */
  readonly nextKey?: string;
  readonly now: EpochSeconds;
};

/**
 * The request to a rule endpoint that a customer hosts.
 *
 * POST sends the body of {@link encodeBody}. GET sends only the data, as query parameters (see {@link renderQuery}). Both
 * are signed over everything that a host decides by: `X-Signature` is `v2=` and HMAC-SHA256, 64 lowercase hex digits,
 * over these lines, each but the last followed by one line feed:
 *
 *     v2
 *     X-Timestamp, in Unix seconds
 *     X-Policy-Id
 *     live, or test when there is a header X-Test-Delivery
 *     POST or GET
 *     the request target (path and query, as received)
 *     the body, which is empty for a GET
 *
 * While the key is being rotated, `X-Signature` still uses the old key and `X-Signature-Next` uses the new one: a host
 * accepts a request if either is right for a key that it trusts. A host should compute the signature over the raw bytes
 * it received and refuse timestamps older than a few minutes.
 */
export function renderWebhook(input: RenderInput): RenderedWebhook {
  const { webhook, data } = input;
  const url = new URL(webhook.url);
  if (webhook.method === 'GET') {
    const path = `${url.pathname}${renderQuery(url, data)}`;
    return { method: 'GET', path, headers: renderHeaders(input, path, undefined), body: undefined };
  }
  const body = input.body();
  const path = `${url.pathname}${url.search}`;
  return {
    method: 'POST',
    path,
    headers: { ...renderHeaders(input, path, body), 'content-type': 'application/json' },
    body,
  };
}

/** Longest `signature` that is sent to a host: enough for a passkey or several owners. */
const maxSignatureBytes = 2048;

/**
 * The body of every POST of one request, `{"data": …, "userOp": {…}}` in UTF-8, encoded once for all hosts. A
 * `signature` of more than 2,048 bytes is sent as `0x`: none of our hashes covers it, so its sender can replace it at
 * will and a host cannot rely on it. Everything else of the operation is signed and sent whole.
 */
export function encodeBody(data: unknown, userOp: Readonly<Record<string, unknown>>): Uint8Array {
  const { signature } = userOp;
  const isLong = typeof signature === 'string' && signature.length > 2 + 2 * maxSignatureBytes;
  return Buffer.from(JSON.stringify({ data, userOp: isLong ? { ...userOp, signature: '0x' } : userOp }));
}

function renderHeaders(
  input: RenderInput,
  path: string,
  body: Uint8Array | undefined,
): Record<string, string> {
  const { webhook, isTest = false, now, signingKey, nextKey } = input;
  const kind = isTest ? 'test' : 'live';
  const start = ['v2', now, webhook.policyId, kind, webhook.method, path, ''].join('\n');
  const sign = (key: string): string => {
    const hmac = createHmac('sha256', key).update(start);
    return `v2=${(body === undefined ? hmac : hmac.update(body)).digest('hex')}`;
  };
  return {
    accept: 'application/json',
    'user-agent': 'paymaster-operator',
    'x-request-id': input.requestId,
    'x-policy-id': webhook.policyId,
    ...(isTest ? { 'x-test-delivery': 'true' } : {}),
    'x-timestamp': String(now),
    'x-signature': sign(signingKey),
    ...(nextKey === undefined ? {} : { 'x-signature-next': sign(nextKey) }),
  };
}

/**
 * One parameter per member of the data: text, numbers and booleans as they are, everything else (objects, lists,
 * null) as JSON text. Data that is not an object becomes a single parameter `data` with JSON text. If the policy's
 * URL already has a parameter, it stays and is not repeated: the data comes from the sender of the operation, the URL
 * from the policy's owner.
 */
function renderQuery(url: URL, data: unknown): string {
  const owned = new Set(url.searchParams.keys());
  const members = isObject(data) ? Object.entries(data) : [['data', data] as const];
  const added = new URLSearchParams();
  for (const [name, value] of members) {
    if (value !== undefined && !owned.has(name)) added.append(name, renderParameter(value));
  }
  if (added.size === 0) return url.search;
  return `${url.search === '' ? '?' : `${url.search}&`}${added.toString()}`;
}

function renderParameter(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
