import { randomBytes } from 'node:crypto';
import { hashCredential } from '../core/config/api-key.js';
import type { Clock } from '../core/units/time.js';

const lifeMs = 15 * 60_000;

export type SignInCode = ReturnType<typeof createSignInCode>;

/** A code that signs in to the console once, soon after the start: the terminal that shows it may be recorded. */
export function createSignInCode({
  authToken,
  clock,
}: {
  readonly authToken: string;
  readonly clock: Clock;
}) {
  const code = randomBytes(18).toString('base64url');
  const until = clock.now() + lifeMs;
  let isUsed = false;
  return {
    code,
    /** The authToken that the code stands for. */
    redeem(given: string): string | undefined {
      // Compares hashes, so the time of a comparison reveals nothing.
      if (isUsed || clock.now() > until || hashCredential(given) !== hashCredential(code)) return undefined;
      isUsed = true;
      return authToken;
    },
  };
}
