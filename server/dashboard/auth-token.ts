import { randomBytes } from 'node:crypto';
import type { Request } from 'express';
import { hashCredential } from '../../core/config/api-key.js';

/** A token of the dashboard API, and the hash that an Organisation lists, which does not reveal the token. */
export type NewAuthToken = { readonly authToken: string; readonly sha256: string };

/** 192 random bits, so that nobody can find the token from its plain SHA-256; the prefix lets secret scanners find it. */
export function newAuthToken(): NewAuthToken {
  const authToken = `pmo_${randomBytes(24).toString('base64url')}`;
  return { authToken, sha256: hashCredential(authToken) };
}

/** The header `authToken`, or `Authorization: Bearer`; undefined when neither has one. */
export function tokenOf(request: Pick<Request, 'get'>): string | undefined {
  const bearer = /^Bearer +(\S+)$/i.exec(request.get('Authorization')?.trim() ?? '')?.[1];
  return request.get('authToken')?.trim() || bearer;
}
