import type { FeeTokenSpec } from './fee-token-spec.js';
import type { EpochSeconds } from '../units/time.js';
import { formatDecimal, divideUp } from '../units/wei.js';
import type { Price } from './price-source.js';

/** How long a quote is valid, in seconds. What is signed later gets a new price. */
export const quoteLifeSeconds = 120;

/** An element of `feeQuotes`, in the form that clients read. */
export type FeeQuote = {
  readonly symbol: string;
  readonly decimal: number;
  readonly tokenAddress: string;
  /** Whole tokens, worst case, premium included; clients approve `ceil(maxGasFee * 10^decimal)`. */
  readonly maxGasFee: number;
  /** The same in US dollars; absent when no price source of the chain knows dollars. */
  readonly maxGasFeeUSD?: number;
  /** Token base units per native coin, without the premium. */
  readonly exchangeRate: number;
  readonly premiumPercentage: string;
  /** Unix seconds. */
  readonly validUntil: number;
  /** Empty when the FeeToken has no logo. */
  readonly logoUrl: string;
};

type FeeQuoteTerms = {
  readonly token: FeeTokenSpec;
  readonly price: Pick<Price, 'rate'>;
  /** The most that the contract can take, in token base units, premium included. */
  readonly maxCharge: bigint;
  /** As in {@link Price}; undefined when no source knows it. */
  readonly usdPerNative: bigint | undefined;
  readonly validUntil: EpochSeconds;
};

/** Renders a quote. The only place where token amounts become floats; every figure is rounded up. */
export function renderFeeQuote(quoted: FeeQuoteTerms): FeeQuote {
  const { token, price, maxCharge, usdPerNative, validUntil } = quoted;
  return {
    symbol: token.symbol,
    decimal: token.decimals,
    tokenAddress: token.address,
    maxGasFee: roundUpToNumber(maxCharge, token.decimals),
    ...(usdPerNative === undefined
      ? {}
      : { maxGasFeeUSD: plainNumber(divideUp(maxCharge * usdPerNative, price.rate), usdDecimals) }),
    exchangeRate: roundUpToNumber(price.rate, 0),
    premiumPercentage: token.premiumPercentage ?? '0',
    validUntil,
    logoUrl: token.logoUrl ?? '',
  };
}

const usdDecimals = 18;

/** JavaScript writes smaller numbers with an exponent, and clients that read the text refuse that. */
const minPlainExponent = 6;

/** A double represents every decimal text of this many digits exactly enough to give the same text back. */
const exactDigits = 15;

/**
 * The number whose text is `amount / 10^decimals`, rounded up to 15 significant digits and to at least 0.000001, so
 * that it is written without an exponent up to 1e21. Neither its text nor the product `number * 10^decimals`, which
 * clients compute in floats, is ever below `amount`: if float arithmetic would give less, it takes the next digit.
 */
export function roundUpToNumber(amount: bigint, decimals: number): number {
  for (let asked = amount; ; asked += lastKeptDigit(asked, decimals)) {
    const number = plainNumber(asked, decimals);
    if (BigInt(Math.ceil(number * 10 ** decimals)) >= amount) return number;
  }
}

/** The same for readers who do not multiply: only its text is guaranteed to be at least `amount`. */
function plainNumber(amount: bigint, decimals: number): number {
  if (amount === 0n) return 0;
  const least = decimals > minPlainExponent ? 10n ** BigInt(decimals - minPlainExponent) : 1n;
  const asked = amount < least ? least : amount;
  const step = lastKeptDigit(asked, decimals);
  return Number(formatDecimal(divideUp(asked, step) * step, decimals));
}

/** The value of the last digit that is kept of an amount, at least one base unit. */
function lastKeptDigit(amount: bigint, decimals: number): bigint {
  const dropped = Math.max(
    amount.toString().length - exactDigits,
    decimals - minPlainExponent - exactDigits,
    0,
  );
  return 10n ** BigInt(dropped);
}
