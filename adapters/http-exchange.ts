import { pipeline, type Duplex, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

export type HttpAnswer = { readonly status: number; readonly body: string };

export class BodyTooLarge extends Error {
  readonly code = 'BODY_TOO_LARGE';
}

/** With every request: an answer is small, or near, and reading it as it is costs less than to expand it. */
export const asItIs = { 'accept-encoding': 'identity' } as const;

/** Some hosts and proxies compress all the same. */
const expanders: Readonly<Record<string, () => Duplex>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

export class EncodingUnknown extends Error {
  readonly code = 'CONTENT_ENCODING';
}

/**
 * The body of an answer as UTF-8 text, expanded where its header `content-encoding` says so. Throws BodyTooLarge beyond `maxBytes`,
 * counted after expanding, EncodingUnknown, or the error of the network or of the compressed data.
 */
export async function readBody(
  body: Readable,
  maxBytes: number,
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of expanded(body, headers['content-encoding'])) {
    size += chunk.length;
    // Leaving the loop destroys the body and with it the connection.
    if (size > maxBytes) throw new BodyTooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function expanded(body: Readable, encoding: string | string[] = 'identity'): AsyncIterable<Buffer> {
  const name = String(encoding).toLowerCase();
  if (name === 'identity' || name === '') return body;
  const expand = Object.hasOwn(expanders, name) ? expanders[name] : undefined;
  if (expand === undefined) {
    // Ending the connection is an error of a body that was not read.
    body.on('error', () => {}).destroy();
    throw new EncodingUnknown(`content-encoding ${name.slice(0, 40)} is not read`);
  }
  // The loop that reads it gets the error of either, and leaving it destroys both.
  return pipeline(body, expand(), () => {});
}

/** A member of an error that is a text. Not by instanceof: a DOMException of the runtime is not an Error in every realm. */
export function errorText(error: unknown, name: 'code' | 'name'): string | undefined {
  const value: unknown = typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined;
  return typeof value === 'string' ? value : undefined;
}

/** The header `Authorization` that stands for the user and password of a URL; undefined when it has neither. */
export function basicAuth({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined;
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(user).toString('base64')}`;
}
