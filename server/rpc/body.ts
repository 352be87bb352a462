import type { IncomingMessage } from 'node:http';
import { DomainError } from '../../core/errors.js';
import type { AdmittedBody, BodyLimits } from '../http/body-admission.js';
import { limited } from '../http/rate-limit.js';

/** Text, or chunks that {@link bodyText} decodes: for a long body that takes longer than most calls, so it waits for its turn. */
export type ReadBody = string | readonly Buffer[];

/** Why a body was not read to its end. `close`: the connection must not be used again. */
export type UnreadBody = { readonly error: DomainError; readonly close: boolean };

/**
 * Reads a request body. Most arrive in one chunk, which is decoded without a copy.
 * Calls `done` exactly once: with the body, or with the reason as soon as a limit is exceeded, or with `undefined` when the
 * client disconnected first. A body that is too large is read to its end (by node without a listener) and
 * discarded: most clients send everything before they read, and would never see the answer if we closed the connection.
 */
export function readBody(
  request: IncomingMessage,
  admitted: AdmittedBody,
  { bodyBytes, withinMs }: BodyLimits,
  done: (body: ReadBody | UnreadBody | undefined) => void,
): void {
  if (Number(request.headers['content-length'] ?? 0) > bodyBytes) return done(tooLarge(bodyBytes));
  let first: Buffer | undefined;
  let more: Buffer[] | undefined;
  let size = 0;
  let open = true;
  const finish = (body: ReadBody | UnreadBody | undefined): void => {
    if (!open) return;
    open = false;
    arrived();
    done(body);
  };
  const arrived = admitted.begin(() => finish(tooSlow(withinMs)));
  request.on('data', (chunk: Buffer) => {
    if (!open) return;
    size += chunk.length;
    if (size > bodyBytes) return finish(tooLarge(bodyBytes));
    if (!admitted.take(chunk.length)) return finish(tooMany());
    if (first === undefined) first = chunk;
    else if (more === undefined) more = [first, chunk];
    else more.push(chunk);
  });
  request.on('end', () => finish(more ?? first?.toString('utf8') ?? ''));
  request.on('error', () => finish(undefined));
  request.on('close', () => finish(undefined));
}

export function bodyText(body: ReadBody): string {
  return typeof body === 'string' ? body : Buffer.concat(body).toString('utf8');
}

export function isRead(body: ReadBody | UnreadBody): body is ReadBody {
  return typeof body === 'string' || Array.isArray(body);
}

function tooLarge(bodyBytes: number): UnreadBody {
  const message = `The request body must be at most ${bodyBytes} bytes.`;
  return { error: new DomainError('PAYLOAD_TOO_LARGE', message), close: false };
}

function tooSlow(withinMs: number): UnreadBody {
  return { error: limited('BODY_SLOW', `The request body must arrive within ${withinMs} ms.`), close: true };
}

function tooMany(): UnreadBody {
  const message = 'Too many request bodies of this key or client are being read: try again in a second.';
  return { error: limited('BODIES_FULL', message), close: true };
}
