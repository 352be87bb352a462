import type { TokenTerms } from './layout.js';
import { divideUp } from '../units/wei.js';

/** A markup of 1,000,000 means no premium. */
export const markupUnit = 1_000_000;
/** The premium can at most double the price; no contract should accept more. */
const maxMarkup = 2_000_000;

const weiPerCoin = 10n ** 18n;
const wordLimit = 1n << 256n;

/**
 * Throws RangeError for terms that must never be signed, whatever the contract does with them: given a rate of 0, one
 * contract asks an oracle and another charges nothing, and not all contracts bound the markup.
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
 * The markup for contracts whose data has a field for it. Its highest bit demands that the contract takes the tokens
 * in validation. Only contracts that were probed to obey the bit get it, because others would read it as part of the
 * price.
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
 * Token base units for a cost in wei: cost × rate / 10^18 × markup / 10^6, rounded up once at the end. RangeError
 * when the product does not fit the 256 bits in which contracts compute it: the contract would revert, and the gas
 * would be lost.
 */
export function tokensFor(costWei: bigint, exchangeRate: bigint, priceMarkup: number): bigint {
  const product = costWei * exchangeRate * BigInt(priceMarkup);
  if (product >= wordLimit)
    throw new RangeError(`a cost of ${costWei} wei at ${exchangeRate} tokens per coin exceeds 256 bits`);
  return divideUp(product, weiPerCoin * BigInt(markupUnit));
}

/** The rate multiplied by the markup, rounded up, for data that has no field for the premium. */
export function rateWithMarkup({
  exchangeRate,
  priceMarkup,
}: Pick<TokenTerms, 'exchangeRate' | 'priceMarkup'>): bigint {
  const rate = divideUp(exchangeRate * BigInt(priceMarkup), BigInt(markupUnit));
  if (rate >= wordLimit) throw new RangeError(`exchangeRate with its premium exceeds 256 bits: ${rate}`);
  return rate;
}
