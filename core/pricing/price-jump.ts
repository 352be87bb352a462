import { parseInstant, type EpochMs } from '../units/time.js';
import { divideUp, parseDecimal } from '../units/wei.js';
import type { PriceBounds } from './fee-token-spec.js';
import { refused, type Price, type RefusedPrice } from './price-source.js';

/** The last price of a coin in a token that was accepted. */
export type PriceReference = {
  /** As in {@link Price}. */
  readonly rate: bigint;
  readonly acceptedAt: EpochMs;
};

/**
 * Port: the last accepted prices by name, so that a restart and another replica know them. Of two the one that was accepted later
 * stays. Every method throws UNAVAILABLE.
 */
export type PriceReferences = {
  last(name: string): Promise<PriceReference | undefined>;
  keep(name: string, reference: PriceReference): Promise<void>;
};

/** The one that was accepted later: the store may lack what could not be kept. */
export function laterOf(
  one: PriceReference | undefined,
  other: PriceReference | undefined,
): PriceReference | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one.acceptedAt < other.acceptedAt ? other : one;
}

/** For processes whose prices decide nothing, and for tests. */
export function createMemoryReferences(): PriceReferences {
  const kept = new Map<string, PriceReference>();
  return {
    last: async (name) => kept.get(name),
    async keep(name, reference) {
      kept.set(name, laterOf(kept.get(name), reference) ?? reference);
    },
  };
}

const defaultFallPercent = 50;
const hourMs = 3_600_000;
/** The bound falls for so many whole hours without an accepted price. */
const maxHours = 3;

/**
 * Refuses a price that has fallen too far below the last accepted one: a feed that errs, or lies, would open every limit that is
 * counted in dollars, and sell gas for next to nothing. A coin whose price rises makes limits smaller, and opens nothing.
 */
export function refusedJump(
  { rate, source }: Pick<Price, 'rate' | 'source'>,
  bounds: PriceBounds,
  last: PriceReference | undefined,
  now: EpochMs,
): RefusedPrice | undefined {
  const least = minRate(bounds, last, now);
  return rate >= least ? undefined : refused({ source, reason: 'JUMP', rate, least });
}

/** The least rate that is accepted. */
export function minRate(
  { maxFallPercent = defaultFallPercent, floor, acceptedAt }: PriceBounds,
  last: PriceReference | undefined,
  now: EpochMs,
): bigint {
  const least = floor === undefined ? 0n : parseDecimal(floor, 0);
  const confirmedAt = acceptedAt === undefined ? undefined : parseInstant(acceptedAt);
  // A time in the future would accept every price until then.
  const isConfirmed = confirmedAt !== undefined && confirmedAt <= now;
  if (last === undefined || (isConfirmed && last.acceptedAt < confirmedAt)) return least;
  const hours = Math.min(Math.max(Math.floor((now - last.acceptedAt) / hourMs), 0), maxHours);
  const steps = BigInt(1 + hours);
  const bound = divideUp(last.rate * BigInt(100 - maxFallPercent) ** steps, 100n ** steps);
  return bound > least ? bound : least;
}
