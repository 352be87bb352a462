import type { EpochMs } from '../../units/time.js';
import { formatDecimal } from '../../units/wei.js';
import type { LimitShare } from '../usage-store.js';
import { refuse, type Refusal } from '../verdict.js';

const gweiDecimals = 9;

/**
 * LIMIT_REACHED for people: which limit, how much of it is taken, what this operation needs, and when to try again.
 * `used` counts what is spent and what is promised to other operations, in the unit of the share.
 */
export function limitReached(
  share: Pick<LimitShare, 'unit' | 'threshold' | 'cost' | 'subject'>,
  name: string,
  used: number,
  resetsAt: EpochMs,
): Refusal {
  const user = share.subject === '' ? '' : ` for ${share.subject}`;
  const amounts = `${amount(share, used)} of ${amount(share, share.threshold)} used${user}, needs ${amount(share, share.cost)}`;
  return refuse('LIMIT_REACHED', `"${name}": ${amounts}; resets at ${timeText(resetsAt)}`);
}

/** USAGE_LOST for people: the counters of this cycle are gone, so nothing may be counted on them. */
export function usageLost(name: string, resetsAt: EpochMs): Refusal {
  return refuse('USAGE_LOST', `"${name}": usage of this cycle is unknown; resets at ${timeText(resetsAt)}`);
}

/** An amount in the unit of its limit, e.g. "3 operations" or "0.05 ether". */
export function amount({ unit }: Pick<LimitShare, 'unit'>, value: number): string {
  if (unit === 'NATIVE_ASSET') return `${formatDecimal(BigInt(value), gweiDecimals)} ether`;
  return value === 1 ? '1 operation' : `${value} operations`;
}

function timeText(at: EpochMs): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? `${at}` : date.toISOString();
}
