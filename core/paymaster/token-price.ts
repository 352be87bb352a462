import { divideUp } from '../units/divide.js';
import type { TokenTerms } from './layout.js';

/** A markup of 1,000,000 is none. */
export const markupUnit = 1_000_000;
/** The premium can at most double the price: no contract accepts more, or it should not. */
const maxMarkup = 2_000_000;

const weiPerCoin = 10n ** 18n;
const wordLimit = 1n << 256n;

/**
 * RangeError for terms that must never be signed, whatever the contract thinks of them: a rate of 0 makes one of them ask
 * an oracle and another work for nothing, and not all of them bound the markup.
 */
export function assertTokenTerms({ exchangeRate, priceMarkup }: TokenTerms): void {
  if (exchangeRate < 1n || exchangeRate >= wordLimit)
    throw new RangeError(`exchangeRate must be from 1 to 2^256 - 1, got ${exchangeRate}`);
  if (!Number.isInteger(priceMarkup) || priceMarkup < markupUnit || priceMarkup > maxMarkup)
    throw new RangeError(
      `priceMarkup must be a whole number from ${markupUnit} to ${maxMarkup}, got ${priceMarkup}`,
    );
}

/** Highest bit of the field that holds the markup: see {@link markupField}. */
const inAdvanceBit = 2 ** 31;

/**
 * The markup as contracts are given it that keep a field for it. Its highest bit demands that the tokens are taken in
 * validation; only contracts that were probed to obey it are given one, since others would take it for a price.
 */
export function markupField({
  priceMarkup,
  inAdvance,
}: Pick<TokenTerms, 'priceMarkup' | 'inAdvance'>): number {
  return inAdvance === true ? priceMarkup + inAdvanceBit : priceMarkup;
}

/** Inverse of {@link markupField}. */
export function readMarkupField(field: number): Pick<TokenTerms, 'priceMarkup' | 'inAdvance'> {
  return field < inAdvanceBit
    ? { priceMarkup: field }
    : { priceMarkup: field - inAdvanceBit, inAdvance: true };
}

/**
 * Token base units for a cost in wei: cost × rate / 10^18 × markup / 10^6, rounded up once at the end. RangeError when the
 * product does not fit the 256 bits in which contracts compute it: there it would revert, and the gas would be lost.
 */
export function tokensFor(costWei: bigint, exchangeRate: bigint, priceMarkup: number): bigint {
  const product = costWei * exchangeRate * BigInt(priceMarkup);
  if (product >= wordLimit)
    throw new RangeError(`a cost of ${costWei} wei at ${exchangeRate} tokens per coin exceeds 256 bits`);
  return divideUp(product, weiPerCoin * BigInt(markupUnit));
}

/** The rate with the premium in it, rounded up, for data without a field of its own for the premium. */
export function rateWithMarkup({ exchangeRate, priceMarkup }: TokenTerms): bigint {
  const rate = divideUp(exchangeRate * BigInt(priceMarkup), BigInt(markupUnit));
  if (rate >= wordLimit) throw new RangeError(`exchangeRate with its premium exceeds 256 bits: ${rate}`);
  return rate;
}
