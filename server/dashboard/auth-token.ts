import { randomBytes } from 'node:crypto';
import type { Request } from 'express';
import { hashCredential } from '../../core/config/api-key.js';
import type { Sessions } from './console/sessions.js';

/** A token of the dashboard API, and the hash that an Organisation lists, which does not reveal the token. */
type NewAuthToken = { readonly authToken: string; readonly sha256: string };

/** 192 random bits, so that nobody can find the token from its plain SHA-256; the prefix lets secret scanners find it. */
export function newAuthToken(): NewAuthToken {
  const authToken = `pmo_${randomBytes(24).toString('base64url')}`;
  return { authToken, sha256: hashCredential(authToken) };
}

/** Hash of the authToken by which a request is made; undefined when it has none. */
export type CredentialOf = (request: Pick<Request, 'get' | 'headers'>) => string | undefined;

/** That of the header `authToken`, or `Authorization: Bearer`; without either that of the console's session. */
export function createCredentialOf({ of: sessionOf }: Pick<Sessions, 'of'>): CredentialOf {
  return (request) => {
    const bearer = /^Bearer +(\S+)$/i.exec(request.get('Authorization')?.trim() ?? '')?.[1];
    const token = request.get('authToken')?.trim() || bearer;
    return token === undefined ? sessionOf(request)?.sha256 : hashCredential(token);
  };
}
