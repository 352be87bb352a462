import { unreachable } from '../errors.js';
import type { EpochMs } from '../units/time.js';
import { ratioUp, scaleUp, type Decimal } from './decimal.js';
import { priced, refused, type Price, type PriceAnswer } from './price-source.js';

/**
 * What a source quotes, in one of three directions:
 * - `direct`: whole tokens per native coin;
 * - `inverse`: native coins per whole token;
 * - `ratio`: both in a third currency, usually US dollars.
 */
export type Quoted =
  | { readonly direction: 'direct'; readonly tokensPerNative: Decimal }
  | { readonly direction: 'inverse'; readonly nativePerToken: Decimal }
  | { readonly direction: 'ratio'; readonly native: Decimal; readonly token: Decimal };

export type Observation = {
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
export function priceOf(
  { source, quoted, usd, observedAt, staleAt }: Observation,
  tokenDecimals: number,
): PriceAnswer {
  for (const figure of figuresOf(quoted, usd))
    if (figure.value <= 0n)
      return outOfRange(source, `answers ${figure.value}, which is not a price above zero`);
  const rate = rateOf(quoted, tokenDecimals);
  if (rate > maxRate) return outOfRange(source, `answers a rate of more than ${maxRate} token base units`);
  const price: Price = {
    rate,
    observedAt,
    source,
    ...(usd === undefined ? {} : { usdPerNative: scaleUp(usd, 18) }),
    ...(staleAt === undefined ? {} : { staleAt }),
  };
  return priced(price);
}

function rateOf(quoted: Quoted, tokenDecimals: number): bigint {
  switch (quoted.direction) {
    case 'direct':
      return scaleUp(quoted.tokensPerNative, tokenDecimals);
    case 'inverse':
      return ratioUp(one, quoted.nativePerToken, tokenDecimals);
    case 'ratio':
      return ratioUp(quoted.native, quoted.token, tokenDecimals);
    default:
      return unreachable(quoted);
  }
}

function figuresOf(quoted: Quoted, usd: Decimal | undefined): readonly Decimal[] {
  const dollars = usd === undefined ? [] : [usd];
  switch (quoted.direction) {
    case 'direct':
      return [quoted.tokensPerNative, ...dollars];
    case 'inverse':
      return [quoted.nativePerToken, ...dollars];
    case 'ratio':
      return [quoted.native, quoted.token, ...dollars];
    default:
      return unreachable(quoted);
  }
}

const one: Decimal = { value: 1n, decimals: 0 };

function outOfRange(source: string, detail: string): PriceAnswer {
  return refused({ source, reason: 'OUT_OF_RANGE', detail });
}
