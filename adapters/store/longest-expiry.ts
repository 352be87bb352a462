import { skewMs } from '../../core/usage/epoch.js';
import type { EpochMs } from '../../core/units/time.js';

// After a loss, nothing is signed for the time of the longest expiry that was promised. It is noted in steps before the first promise of
// that length, and halved once every such promise must have ended.

/** The longest expiry of a chain, and when a promise of about that length was last made. */
type LongestExpiry = { readonly longestExpiryMs: number; readonly longestAt: EpochMs };

/** The longest expiry of a new chain; later ones are rounded up to a multiple of it. */
export const expiryStepMs = 600_000;
/** How long a process may be unable to reach the mirror before others may reduce the longest expiry without it. */
const mirrorOutageMs = 6 * 3_600_000;

/** Rounds up to a step. */
export function roundUpToStep(expiryMs: number): number {
  return Math.ceil(expiryMs / expiryStepMs) * expiryStepMs;
}

/** The longest expiry after a reduction; the smallest value stays. */
export function shorter(longestExpiryMs: number): number {
  return roundUpToStep(longestExpiryMs / 2);
}

/** No process reduces the longest expiry before this time. */
export function fallsAt({ longestExpiryMs, longestAt }: LongestExpiry): number {
  return longestAt + longestExpiryMs + mirrorOutageMs;
}

/** Whether the longest expiry may be reduced now. */
export function mayFall(known: LongestExpiry, now: EpochMs): boolean {
  return known.longestExpiryMs > expiryStepMs && now > fallsAt(known) + skewMs;
}
