import type { EpochMs } from '../units/time.js';
import { parseDecimal } from '../units/wei.js';
import { judgeAge, staleAtOf } from './age.js';
import {
  formatRefusal,
  priced,
  refused,
  type Price,
  type PriceAnswer,
  type PriceRefusal,
} from './price-source.js';

export type CombineRules = {
  /** Sources whose price is as old are left out; absent: only their own limits count. */
  readonly maxAgeSeconds?: number;
  /** The lowest and the highest rate may be this far apart, in percent of the lowest; absent: they are not compared. */
  readonly maxDeviationPercent?: number;
  /** So many must have answered. Default: 2 where they are compared, since one alone confirms nothing, else 1. */
  readonly minSources?: number;
};

/**
 * One price from the answers of several sources, in order of preference: the first that may be used, provided that
 * enough answered and all that did agree. When they do not, nobody knows which one is wrong, so none is used.
 */
export function combine(rules: CombineRules, answers: readonly PriceAnswer[], now: EpochMs): PriceAnswer {
  const judged = answers.map((answer) => limitAge(rules, answer, now));
  const prices = judged.flatMap((answer) => (answer.ok ? [answer.price] : []));
  const refusals = judged.flatMap((answer) => (answer.ok ? [] : [answer.refusal]));
  const [first] = prices;
  const needed = neededSources(rules, answers.length);
  if (first === undefined || prices.length < needed) return refused(tooFew(refusals, prices, needed));

  const { maxDeviationPercent } = rules;
  if (maxDeviationPercent !== undefined) {
    const lowest = prices.reduce((low, price) => (price.rate < low.rate ? price : low));
    const highest = prices.reduce((high, price) => (price.rate > high.rate ? price : high));
    if (isApart(lowest.rate, highest.rate, maxDeviationPercent))
      return refused({ source: 'combine', reason: 'DEVIATION', lowest, highest, maxDeviationPercent });
  }
  const usdPerNative = prices.find((price) => price.usdPerNative !== undefined)?.usdPerNative;
  return priced({ ...first, ...(usdPerNative === undefined ? {} : { usdPerNative }) });
}

function neededSources({ minSources, maxDeviationPercent }: CombineRules, sources: number): number {
  return minSources ?? Math.min(maxDeviationPercent === undefined ? 1 : 2, sources);
}

/** With `maxAgeSeconds` a price also ages here, so that a caller that keeps it knows when to stop. */
function limitAge({ maxAgeSeconds }: CombineRules, answer: PriceAnswer, now: EpochMs): PriceAnswer {
  if (!answer.ok || maxAgeSeconds === undefined) return answer;
  const { price } = answer;
  const tooOld = judgeAge(price.source, price.observedAt, maxAgeSeconds, now);
  if (tooOld !== undefined) return tooOld;
  const own = staleAtOf(price.observedAt, maxAgeSeconds);
  const staleAt = price.staleAt === undefined || own < price.staleAt ? own : price.staleAt;
  return priced({ ...price, staleAt });
}

/** Shown as the fault of the most preferred source that failed: mending that one helps first. */
function tooFew(refusals: readonly PriceRefusal[], prices: readonly Price[], needed: number): PriceRefusal {
  const [first, ...others] = refusals;
  if (first === undefined || (others.length === 0 && prices.length === 0))
    return first ?? { source: 'combine', reason: 'UNREACHABLE', detail: 'has no source' };
  const which = refusals.map(formatRefusal).join('; ');
  const isOutage = refusals.every(({ reason }) => reason === 'UNREACHABLE');
  return {
    source: 'combine',
    reason: isOutage ? 'UNREACHABLE' : 'TOO_FEW',
    detail: `has ${prices.length} usable sources, ${needed} are needed: ${which}`,
  };
}

function isApart(lowest: bigint, highest: bigint, maxPercent: number): boolean {
  // Six decimals of a percent, without floats in the comparison.
  const limit = parseDecimal(maxPercent.toFixed(6), 6);
  return (highest - lowest) * 100_000_000n > lowest * limit;
}
