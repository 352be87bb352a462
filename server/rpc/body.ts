import type { IncomingMessage } from 'node:http';

import { DomainError } from '../../core/errors.js';

/** Largest request body: an operation with the biggest callData that a bundler takes, in hex, a few times over. */
const maxBodyBytes = 1_048_576;

/**
 * Reads a request body into text. Most bodies arrive in one chunk, which is decoded without a copy.
 * `done` is called exactly once: with text, or with PAYLOAD_TOO_LARGE as soon as the cap is passed, or with `undefined`
 * when the client went away first. What is too large is read to its end, by node where nobody listens, and thrown away:
 * most clients send all before they read, and one whose connection is closed meanwhile never sees the answer.
 */
export function readBody(
  request: IncomingMessage,
  done: (body: string | DomainError | undefined) => void,
): void {
  if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) return done(tooLarge());
  let first: Buffer | undefined;
  let more: Buffer[] | undefined;
  let size = 0;
  let open = true;
  const finish = (body: string | DomainError | undefined): void => {
    if (!open) return;
    open = false;
    done(body);
  };
  request.on('data', (chunk: Buffer) => {
    if (!open) return;
    size += chunk.length;
    if (size > maxBodyBytes) return finish(tooLarge());
    if (first === undefined) first = chunk;
    else if (more === undefined) more = [first, chunk];
    else more.push(chunk);
  });
  request.on('end', () => finish(text(first, more)));
  request.on('error', () => finish(undefined));
  request.on('close', () => finish(undefined));
}

function text(first: Buffer | undefined, more: readonly Buffer[] | undefined): string {
  if (more !== undefined) return Buffer.concat(more).toString('utf8');
  return first === undefined ? '' : first.toString('utf8');
}

function tooLarge(): DomainError {
  return new DomainError('PAYLOAD_TOO_LARGE', `The request body must be at most ${maxBodyBytes} bytes.`);
}
