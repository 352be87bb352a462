import type { EpochSeconds } from '../../../core/units/time.js';
import type { RequestFacts } from '../facts.js';
import type { Validity } from '../step.js';

/** How far `validAfter` lies in the past: our clock, the chain's and a bundler's node never agree to the second. */
const backDatedSeconds = 60;

/**
 * How long data that are signed now are valid. `validAfter` starts from the earlier of our clock and the chain's: an idle
 * chain's newest block may be old, and data that is valid only from "now" could not even be simulated on it.
 */
export function chooseValidity(
  facts: Pick<RequestFacts, 'head' | 'expirySeconds' | 'lastSecond'>,
  now: EpochSeconds,
): Validity {
  return {
    validUntil: chooseValidUntil(facts, now),
    validAfter: Math.max(0, Math.min(now, facts.head.timestamp) - backDatedSeconds),
  };
}

/** Steps take time: the end of a policy's window counts when data are drafted, not only when the request came. */
export function chooseValidUntil(
  { expirySeconds, lastSecond }: Pick<RequestFacts, 'expirySeconds' | 'lastSecond'>,
  now: EpochSeconds,
): EpochSeconds {
  return Math.min(now + expirySeconds, lastSecond) as EpochSeconds;
}
