import type { EpochMs } from '../units/time.js';
import { rollupUnits, startOf } from './steps.js';
import { divideUp } from '../units/wei.js';

/** The price of a chain's coin that was recorded first in an hour. Hours in which none was recorded have none. */
export type HourPrice = {
  readonly chainId: number;
  /** Begin of the hour. */
  readonly hour: EpochMs;
  /** When it was the price. */
  readonly at: EpochMs;
  /** US dollars per coin with 18 implied decimals. */
  readonly usdPerNative: bigint;
};

export type PriceQuery = {
  readonly chainIds: readonly number[];
  readonly from: EpochMs;
  readonly to: EpochMs;
};

/** An hour without a price has the nearest earlier one, if that is not older than this at the begin of the hour. */
const maxPriceAgeMs = 6 * rollupUnits.hour;

export type Prices = (chainId: number, at: EpochMs) => HourPrice | undefined;

/** Undefined: no price may be used, which is never 0. */
export function createPrices(recorded: readonly HourPrice[]): Prices {
  const byHour = new Map(recorded.map((price) => [`${price.chainId} ${price.hour}`, price]));
  return (chainId, at) => {
    const hour: number = startOf(at, 'hour');
    for (let back = hour; back >= hour - maxPriceAgeMs - rollupUnits.hour; back -= rollupUnits.hour) {
      const price = byHour.get(`${chainId} ${back}`);
      if (price !== undefined) return hour - price.at <= maxPriceAgeMs ? price : undefined;
    }
    return undefined;
  };
}

/** What is needed for a range: prices of earlier hours count too. */
export function pricesFor({ chainIds, from, to }: PriceQuery): PriceQuery {
  const first = Math.max(0, startOf(from, 'hour') - maxPriceAgeMs - rollupUnits.hour) as EpochMs;
  return { chainIds, from: first, to };
}

/** An amount of coins in dollars, exactly; `wei` of hours without a price are in `unpricedWei` instead. */
export type Dollars = {
  /** US dollars with 36 implied decimals. */
  readonly usd: bigint;
  readonly unpricedWei: bigint;
  /** Age of the oldest price at the begin of its hour. */
  readonly oldestMs: number;
};

export const noDollars: Dollars = { usd: 0n, unpricedWei: 0n, oldestMs: 0 };

export function addDollars(a: Dollars, b: Dollars): Dollars {
  return {
    usd: a.usd + b.usd,
    unpricedWei: a.unpricedWei + b.unpricedWei,
    oldestMs: Math.max(a.oldestMs, b.oldestMs),
  };
}

export function dollarsAt(wei: bigint, at: EpochMs, price: HourPrice | undefined): Dollars {
  if (wei === 0n) return noDollars;
  if (price === undefined) return { ...noDollars, unpricedWei: wei };
  const oldestMs = Math.max(0, startOf(at, 'hour') - price.at);
  return { usd: wei * price.usdPerNative, unpricedWei: 0n, oldestMs };
}

const perMicro = 10n ** 30n;

/** US dollars in millionths. Each figure is rounded by itself: costs up, everything else down, so that no rounding makes a bill smaller. */
export function microDollars(usd: bigint, rounding: 'up' | 'down'): bigint {
  const up = (amount: bigint): bigint => divideUp(amount, perMicro);
  if (usd >= 0n) return rounding === 'up' ? up(usd) : usd / perMicro;
  return rounding === 'up' ? usd / perMicro : -up(-usd);
}
