import type { EpochMs } from '../units/time.js';
import { type Decimal, ratioUp, scaleUp } from './decimal.js';
import { faulty, type PriceAnswer, priced } from './price-source.js';
import { parseDecimal } from '../units/wei.js';

/**
 * What a source quotes: with `token` two prices in a third currency, usually US dollars; otherwise `native` is whole
 * tokens per native coin, or native coins per whole token where it is `inverse`.
 */
export type Quoted = {
  readonly native: Decimal;
  readonly token?: Decimal | undefined;
  readonly inverse?: boolean;
};

type Observation = {
  readonly source: string;
  readonly quoted: Quoted;
  /** US dollars per native coin, if the source says it. */
  readonly usd?: Decimal;
  readonly observedAt: EpochMs;
  readonly staleAt?: EpochMs;
};

/** No real token comes near this rate, and a charge at this rate still fits the 256 bits of a contract's product. */
export const maxRate = 10n ** 36n;

/** Turns an observation into a price with integers only, rounded up. Refuses anything that is not a plausible price. */
export function computePrice(
  { source, quoted, usd, observedAt, staleAt }: Observation,
  tokenDecimals: number,
): PriceAnswer {
  for (const figure of [quoted.native, quoted.token, usd])
    if (figure !== undefined && figure.value <= 0n)
      return outOfRange(source, `answers ${figure.value}, which is not a price above zero`);
  const rate = computeRate(quoted, tokenDecimals);
  if (rate > maxRate) return outOfRange(source, `answers a rate of more than ${maxRate} token base units`);
  return priced({
    rate,
    observedAt,
    source,
    ...(usd === undefined ? {} : { usdPerNative: scaleUp(usd, 18) }),
    ...(staleAt === undefined ? {} : { staleAt }),
  });
}

function computeRate({ native, token, inverse = false }: Quoted, tokenDecimals: number): bigint {
  if (token !== undefined) return ratioUp(native, token, tokenDecimals);
  return inverse ? ratioUp(one, native, tokenDecimals) : scaleUp(native, tokenDecimals);
}

const one: Decimal = { value: 1n, decimals: 0 };

function outOfRange(source: string, detail: string): PriceAnswer {
  return faulty(source, 'OUT_OF_RANGE', detail);
}

/** Parts per million that mean "no premium": a markup of 1,130,000 is a premium of 13 %. */
const markupBase = 1_000_000n;

/**
 * Premium as the markup by which contracts multiply: `"13"` → 1130000n, `"7.5"` → 1075000n. Exact, since a premium
 * has at most 4 decimals; default no premium. Throws RangeError for other text.
 */
export function parseMarkup(premiumPercentage: string | undefined): bigint {
  return markupBase + parseDecimal(premiumPercentage ?? '0', 4);
}

/** Added to the cost, in percent: the price may move between the signature and the block. */
const marginPercent = 1n;
const perMicroDollar = 100n * 10n ** (18n + 12n);

/**
 * Micro-dollars of an amount of the coin, with the margin, rounded up. `usdPerNative`: US dollars per 10^18 wei with 18 implied
 * decimals.
 */
export function microDollars(wei: bigint, usdPerNative: bigint): bigint {
  return divideUp(wei * usdPerNative * (100n + marginPercent), perMicroDollar);
}

function divideUp(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by;
}
