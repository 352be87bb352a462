import { hashCredential } from '../../core/config/api-key.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';

/** Whether an authToken belongs to the paymaster's organisation and has not expired. */
export function isOwner(
  { tokens }: Pick<ServedPaymaster, 'tokens'>,
  authToken: string | undefined,
  now: number,
): boolean {
  if (authToken === undefined || authToken === '') return false;
  const sha256 = hashCredential(authToken);
  // Compares hashes, so the time of a comparison reveals nothing about a token.
  return tokens.some(
    (token) => token.sha256 === sha256 && (token.validUntil === undefined || now < token.validUntil),
  );
}
