import express from 'express';
import type { RequestHandler } from 'express';
import { DomainError } from '../../core/errors.js';
import { parseJson } from '../http/json.js';

/** A contract's ABI has up to 196,608 characters and doubles when its quotes are escaped; the rest is small. */
export const maxBodyBytes = 1024 * 1024;

/**
 * Reads the body of any method and content type into `request.body` as bytes, `undefined` for a request without a body. The
 * content type is ignored: DELETE with a body, curl without a header, and GET with a JSON header and no body all occur.
 */
export function readBody(limit: number = maxBodyBytes): RequestHandler {
  return express.raw({ type: () => true, limit, inflate: true });
}

/** The JSON value of a body that {@link readBody} has read; an absent body is `undefined`. Throws DomainError INVALID_INPUT. */
export function parseBody(body: unknown): unknown {
  if (!(body instanceof Uint8Array) || body.length === 0) return undefined;
  return parseJson(decodeUtf8(body));
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new DomainError('INVALID_INPUT', 'body must be JSON in UTF-8');
  }
}
