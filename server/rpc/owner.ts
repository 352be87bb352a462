import type { ServedPaymaster } from '../view/served-paymaster.js';

/** Whether the authToken with this hash belongs to the paymaster's organisation and has not expired. */
export function isOwner(
  { tokens }: Pick<ServedPaymaster, 'tokens'>,
  sha256: string | undefined,
  now: number,
): boolean {
  if (sha256 === undefined) return false;
  // Compares hashes, so the time of a comparison reveals nothing about a token.
  return tokens.some(
    (token) => token.sha256 === sha256 && (token.validUntil === undefined || now < token.validUntil),
  );
}
