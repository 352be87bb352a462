import type { SponsorshipTerms } from '../../core/paymaster/layout.js';
import type { EpochSeconds } from '../../core/units/time.js';
import type { RequestFacts, SponsorCase } from './case.js';

/** Data is valid from this long ago on: our clock, the chain's and a bundler's node never agree to the second. */
const backDatedSeconds = 60;

/** What is signed besides the operation. */
export function termsOf(facts: SponsorCase, now: EpochSeconds): SponsorshipTerms {
  const { paymaster, profile, funding } = facts;
  if (funding === undefined) throw new Error('terms are asked for an operation that nobody pays for');
  const { validUntil, validAfter } = windowOf(facts, now);
  return {
    chainId: paymaster.chainId,
    paymaster: profile.contract,
    fundingAddress: funding,
    validUntil,
    validAfter,
    options: profile.options,
  };
}

/**
 * When data is valid that is signed now. `validAfter` starts from the earlier of our clock and the chain's, because an
 * idle chain's newest block may be old, and data that is valid only from "now" could not even be simulated on it.
 */
export function windowOf(
  { head, expirySeconds }: Pick<RequestFacts, 'head' | 'expirySeconds'>,
  now: EpochSeconds,
): Pick<SponsorshipTerms, 'validUntil' | 'validAfter'> {
  return {
    validUntil: now + expirySeconds,
    validAfter: Math.max(0, Math.min(now, head.timestamp) - backDatedSeconds),
  };
}
