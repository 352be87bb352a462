import type { ServerResponse } from 'node:http';

import type { RefusalReason } from '../../core/refusal.js';

/** One HTTP answer of the JSON-RPC edge. */
export type HttpAnswer = {
  readonly status: number;
  /** JSON text. */
  readonly body: string;
  readonly refusal?: RefusalReason | undefined;
  /** True when data was signed for a paymaster that sponsors calls to any contract. */
  readonly isOpen?: boolean | undefined;
  readonly retryAfterSeconds?: number | undefined;
  /** True when the rest of the request is not read, so the connection must close. */
  readonly close?: boolean | undefined;
};

/** Wallets in browsers call from any origin; the key in the address is the only credential, and it is not a cookie. */
const exposedHeaders = [
  'Access-Control-Expose-Headers',
  'X-Sponsorship-Reason, X-Open-Sponsorship, X-Request-Id, Retry-After',
] as const;
const corsHeaders = ['Access-Control-Allow-Origin', '*', ...exposedHeaders] as const;

/** Of a paymaster that lists the origins of its pages: only a page of one of them may read the answer. */
function corsHeadersFor(origin: AllowedOrigin): readonly string[] {
  if (origin === 'any') return corsHeaders;
  const allowed = origin === 'none' ? [] : ['Access-Control-Allow-Origin', origin.page, ...exposedHeaders];
  return ['Vary', 'Origin', ...allowed];
}

/** Whose pages may read the answer. */
export type AllowedOrigin = 'any' | 'none' | { readonly page: string };

/** Writes headers as one flat list, so that node skips its per-header bookkeeping. */
export function writeAnswer(
  response: ServerResponse,
  answer: HttpAnswer,
  requestId: string,
  origin: AllowedOrigin = 'any',
): void {
  if (response.destroyed || response.headersSent) return;
  const size = Buffer.byteLength(answer.body);
  const headers: (string | number)[] = [
    'Content-Type',
    'application/json',
    'Content-Length',
    size,
    'X-Request-Id',
    requestId,
    ...corsHeadersFor(origin),
  ];
  if (answer.refusal !== undefined) headers.push('X-Sponsorship-Reason', answer.refusal);
  if (answer.isOpen === true) headers.push('X-Open-Sponsorship', 'true');
  if (answer.retryAfterSeconds !== undefined) headers.push('Retry-After', answer.retryAfterSeconds);
  if (answer.status === 405) headers.push('Allow', 'POST, OPTIONS');
  if (answer.close === true) headers.push('Connection', 'close');
  response.writeHead(answer.status, headers);
  // As many bytes as characters means plain ASCII, which the socket takes without transcoding.
  response.end(answer.body, size === answer.body.length ? 'latin1' : 'utf8');
}

/**
 * Answers a CORS preflight. Allows all headers that the client asks for, since none of them grants any rights here, and every
 * origin: it may come without a key, and nothing is looked up for it. The request that follows is refused.
 */
export function writePreflight(response: ServerResponse, requested: string | undefined): void {
  response.writeHead(204, [
    ...corsHeaders,
    'Access-Control-Allow-Methods',
    'POST, OPTIONS',
    'Access-Control-Allow-Headers',
    requested ?? 'Content-Type, apiKey, authToken',
    'Access-Control-Max-Age',
    '86400',
  ]);
  response.end();
}
