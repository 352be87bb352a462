import { randomBytes } from 'node:crypto';
import type { Request } from 'express';
import { hashCredential } from '../../core/config/api-key.js';
import type { Session, Sessions } from './console/sessions.js';

/** A token of the dashboard API, and the hash that an Organisation lists, which does not reveal the token. */
type NewAuthToken = { readonly authToken: string; readonly sha256: string };

/** 192 random bits, so that nobody can find the token from its plain SHA-256; the prefix lets secret scanners find it. */
export function newAuthToken(): NewAuthToken {
  const authToken = `pmo_${randomBytes(24).toString('base64url')}`;
  return { authToken, sha256: hashCredential(authToken) };
}

/** The hash of an authToken, and the console's session that stands for it. */
export type Credential = { readonly sha256: string; readonly session?: Session };

/** By what a request is made; undefined when it has neither token nor session. */
export type CredentialOf = (request: Pick<Request, 'get' | 'headers'>) => Credential | undefined;

/** That of the header `authToken`, or `Authorization: Bearer`; without either that of the console's session. */
export function createCredentialReader({ of: sessionOf }: Pick<Sessions, 'of'>): CredentialOf {
  return (request) => {
    const bearer = /^Bearer +(\S+)$/i.exec(request.get('Authorization')?.trim() ?? '')?.[1];
    const token = request.get('authToken')?.trim() || bearer;
    if (token !== undefined) return { sha256: hashCredential(token) };
    const session = sessionOf(request);
    return session && { sha256: session.sha256, session };
  };
}
