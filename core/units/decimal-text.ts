/** Exact plain decimal text of a finite number: 1e-7 → `0.0000001`, 1e21 → `1000000000000000000000`. */
export function decimalText(value: number): string {
  const text = plainDecimal(String(value));
  if (text === undefined) throw new RangeError(`expected a finite number, got ${value}`);
  return text;
}

const numberPattern = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

/** No number in real use is longer, and the parsing below takes more than linear time. */
const maxLiteralLength = 1_024;

// A double's exponent stays within ±324; a literal beyond that is not a double, and padding it would exhaust the
// memory.
const maxExponent = 400;

/** Canonical plain decimal of a number literal, so that `1.50`, `15e-1` and `1.5` compare equal. */
export function plainDecimal(literal: string): string | undefined {
  if (literal.length > maxLiteralLength) return undefined;
  const match = numberPattern.exec(literal);
  if (!match) return undefined;
  const [, sign = '', whole = '', fraction = '', exponentText = '0'] = match;
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return '0';
  const exponent = Number(exponentText);
  if (Math.abs(exponent) > maxExponent) return undefined;
  const point = digits.length - fraction.length + exponent;
  const padded = digits.padStart(digits.length - Math.min(point, 0), '0').padEnd(point, '0');
  const left = padded.slice(0, Math.max(point, 0)) || '0';
  const right = padded.slice(Math.max(point, 0)).replace(/0+$/, '');
  return sign + (right === '' ? left : `${left}.${right}`);
}
