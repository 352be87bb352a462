import type { EpochMs } from '../units/time.js';
import { parseDecimal } from '../units/wei.js';
import {
  checkAge,
  formatRefusal,
  priced,
  refused,
  toStaleAt,
  type PriceAnswer,
  type PriceRefusal,
} from './price-source.js';

export type CombineRules = {
  /** Prices of this age or older are left out; absent: only the limits of each source count. */
  readonly maxAgeSeconds?: number;
  /**
   * The greatest allowed difference between the lowest and the highest rate, in percent of the lowest; absent: they
   * are not compared.
   */
  readonly maxDeviationPercent?: number;
  /**
   * How many sources must have answered. Default: 2 if they are compared, since a single source confirms nothing,
   * else 1.
   */
  readonly minSources?: number;
};

/**
 * One price from the answers of several sources, in order of preference: the first usable one, provided that enough
 * sources answered and all of those agree. If they disagree, nobody knows which is wrong, so none is used.
 */
export function combine(rules: CombineRules, answers: readonly PriceAnswer[], now: EpochMs): PriceAnswer {
  const judged = answers.map((answer) => limitAge(rules, answer, now));
  const prices = judged.flatMap((answer) => (answer.ok ? [answer.price] : []));
  const faults = judged.flatMap((answer) => (answer.ok ? [] : [answer.refusal]));
  const [first] = prices;
  const needed = neededSources(rules, answers.length);
  if (first === undefined || prices.length < needed) return refused(tooFew(faults, prices.length, needed));

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

/** With `maxAgeSeconds` a price also ages here, so that a caller that keeps it knows when to stop using it. */
function limitAge({ maxAgeSeconds }: CombineRules, answer: PriceAnswer, now: EpochMs): PriceAnswer {
  if (!answer.ok || maxAgeSeconds === undefined) return answer;
  const { price } = answer;
  const tooOld = checkAge(price.source, price.observedAt, maxAgeSeconds, now);
  if (tooOld !== undefined) return tooOld;
  const own = toStaleAt(price.observedAt, maxAgeSeconds);
  const staleAt = price.staleAt === undefined || own < price.staleAt ? own : price.staleAt;
  return priced({ ...price, staleAt });
}

/** The fault itself if there is only one source; an outage if all failed sources were unreachable. */
function tooFew(faults: readonly PriceRefusal[], usable: number, needed: number): PriceRefusal {
  const [only, ...others] = faults;
  if (only !== undefined && others.length === 0 && usable === 0) return only;
  if (!faults.every(({ reason }) => reason === 'UNREACHABLE'))
    return { source: 'combine', reason: 'TOO_FEW', usable, needed, faults };
  const which = faults.map(formatRefusal).join('; ');
  const detail = `has ${usable} usable sources and needs ${needed}: ${which}`;
  return { source: 'combine', reason: 'UNREACHABLE', detail };
}

function isApart(lowest: bigint, highest: bigint, maxPercent: number): boolean {
  // Six decimals of a percent, so that the comparison needs no floats.
  const limit = parseDecimal(maxPercent.toFixed(6), 6);
  return (highest - lowest) * 100_000_000n > lowest * limit;
}
