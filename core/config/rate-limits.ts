import type { RateLimit, RateLimits } from '../resources/paymaster.js';

/** What a Paymaster's and its Chain's limits leave; undefined where neither sets one. */
export function tighterLimits(
  paymaster: RateLimits | undefined,
  chain: RateLimits | undefined,
): RateLimits | undefined {
  if (paymaster === undefined || chain === undefined) return paymaster ?? chain;
  const perKey = tighter(paymaster.perKey, chain.perKey);
  const perClient = tighter(paymaster.perClient, chain.perClient);
  return { ...(perKey && { perKey }), ...(perClient && { perClient }) };
}

/** True where a burst or the rate of `limit` is above the other's. */
export function isWider(limit: RateLimit, than: RateLimit): boolean {
  return limit.requests > than.requests || rateOf(limit) > rateOf(than);
}

/** The smaller burst at the lower rate, so that neither of two limits is passed; `perSeconds` may be no whole number. */
function tighter(a: RateLimit | undefined, b: RateLimit | undefined): RateLimit | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (!isWider(a, b)) return a;
  const requests = Math.min(a.requests, b.requests);
  return { requests, perSeconds: requests / Math.min(rateOf(a), rateOf(b)) };
}

function rateOf({ requests, perSeconds }: RateLimit): number {
  return requests / perSeconds;
}
