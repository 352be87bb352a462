import type { RateLimit, RateLimits } from '../resources/schema-parts.js';

/** The tighter of the Paymaster's and the Chain's limits; undefined when neither sets one. */
export function tighterLimits(
  paymaster: RateLimits | undefined,
  chain: RateLimits | undefined,
): RateLimits | undefined {
  if (paymaster === undefined || chain === undefined) return paymaster ?? chain;
  const perKey = tighter(paymaster.perKey, chain.perKey);
  const perClient = tighter(paymaster.perClient, chain.perClient);
  return { ...(perKey && { perKey }), ...(perClient && { perClient }) };
}

/** Whether `limit` allows a larger burst or a higher rate than the other. */
export function isWider(limit: RateLimit, than: RateLimit): boolean {
  return limit.requests > than.requests || rateOf(limit) > rateOf(than);
}

/**
 * The smaller burst at the lower rate, so that requests exceed neither limit; `perSeconds` need not be a whole
 * number.
 */
function tighter(a: RateLimit | undefined, b: RateLimit | undefined): RateLimit | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (!isWider(a, b)) return a;
  const requests = Math.min(a.requests, b.requests);
  return { requests, perSeconds: requests / Math.min(rateOf(a), rateOf(b)) };
}

function rateOf({ requests, perSeconds }: RateLimit): number {
  return requests / perSeconds;
}
