/** An exact number: `value / 10^decimals`. `decimals` may be negative: never in a feed, but in a JSON number. */
export type Decimal = { readonly value: bigint; readonly decimals: number };

const numberPattern = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** No real price is longer. The bound also prevents a short text from producing a number with a billion digits. */
const maxDigits = 80;
const maxExponent = 80;

/**
 * Parses a number as JSON and most APIs write it, e.g. "3123.45", "-1", "2.5e-7". Undefined for any other text, and
 * for a number that needs more than 80 digits or an exponent beyond 80.
 */
export function parseNumberText(text: string): Decimal | undefined {
  // Refuses longer texts without reading them.
  if (text.length > 2 * maxDigits) return undefined;
  const match = numberPattern.exec(text);
  if (match === null) return undefined;
  const [, sign = '', whole = '', fraction = '', exponentText = '0'] = match;
  const exponent = Number(exponentText);
  const digits = `${whole}${fraction}`;
  if (digits.length > maxDigits || Math.abs(exponent) > maxExponent) return undefined;
  return { value: BigInt(`${sign}${digits}`), decimals: fraction.length - exponent };
}

/** The same number with `decimals` implied decimals, rounded up. The number must not be negative. */
export function scaleUp(number: Decimal, decimals: number): bigint {
  return ratioUp(number, { value: 1n, decimals: 0 }, decimals);
}

/** `dividend / divisor` with `decimals` implied decimals, rounded up. Neither may be negative, nor `divisor` zero. */
export function ratioUp(dividend: Decimal, divisor: Decimal, decimals: number): bigint {
  const shift = decimals + divisor.decimals - dividend.decimals;
  const top = dividend.value * (shift > 0 ? 10n ** BigInt(shift) : 1n);
  const bottom = divisor.value * (shift < 0 ? 10n ** BigInt(-shift) : 1n);
  return (top + bottom - 1n) / bottom;
}
