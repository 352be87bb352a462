import type { EpochMs } from '../units/time.js';
import type { AddressKey } from '../units/address.js';
import { never } from '../usage/window.js';
import { formatAmount } from '../usage/units.js';
import type { LimitShare } from '../usage/reserve-request.js';
import { DomainError } from '../errors.js';
import { refuse, type Refusal } from '../refusal.js';
import type { CountedPolicy } from './kind.js';

/**
 * LIMIT_REACHED, or BUDGET_REACHED, for people: which limit, how much of it is taken, what this operation needs, and when to try again.
 * `subject`: the user whose limit it is, '' when all users share it. `used`: what is spent plus what is promised to
 * other operations, in the unit of the share.
 */
export function limitReached(
  share: Pick<LimitShare, 'unit' | 'threshold' | 'cost' | 'window'>,
  {
    name,
    subject,
    isBudget,
  }: Pick<CountedPolicy, 'name' | 'isBudget'> & { readonly subject: AddressKey | '' },
  used: number,
): Refusal {
  const user = subject === '' ? '' : ` for ${subject}`;
  const { unit, threshold, cost } = share;
  const amounts = `${formatAmount(unit, used)} of ${formatAmount(unit, threshold)} used${user}, needs ${formatAmount(unit, cost)}`;
  const detail = `"${name}": ${amounts}; ${resetText(share.window.until)}`;
  return refuse(
    isBudget === true ? 'BUDGET_REACHED' : 'LIMIT_REACHED',
    detail,
    cost > threshold ? 'ABOVE_THRESHOLD' : undefined,
  );
}

/** A rule in dollars is not guessed at: nothing is signed until there is a price. Who asks need not learn the rule's name. */
export function priceStale(name: string): DomainError {
  const forOwner = `"${name}" is in dollars, and the coin has no price now`;
  return new DomainError('UNAVAILABLE', 'A rule is in dollars, and the coin has no price now', {
    reason: 'PRICE_STALE',
    retryAfterSeconds: 10,
    detail: forOwner,
    forOwner,
  });
}

/** USAGE_LOST for people: the counters of this cycle are lost, so the limit cannot be judged. */
export function usageLost(name: string, resetsAt: EpochMs): Refusal {
  return refuse('USAGE_LOST', `"${name}": usage of this cycle is unknown; ${resetText(resetsAt)}`);
}

function resetText(at: EpochMs): string {
  return at === never ? 'never resets' : `resets at ${timeText(at)}`;
}

function timeText(at: EpochMs): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? `${at}` : date.toISOString();
}
