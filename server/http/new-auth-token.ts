import { randomBytes } from 'node:crypto';
import { hashCredential } from '../../core/config/api-key.js';

/** A token of the dashboard API and what an Organisation lists of it, which does not give the token away. */
export type NewAuthToken = { readonly authToken: string; readonly sha256: string };

/** 192 random bits, so that its plain SHA-256 cannot be guessed back; the prefix lets secret scanners find it. */
export function newAuthToken(): NewAuthToken {
  const authToken = `pmo_${randomBytes(24).toString('base64url')}`;
  return { authToken, sha256: hashCredential(authToken) };
}
