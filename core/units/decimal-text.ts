import { trimEnd } from './trim-end.js';

/** Exact plain decimal text of a finite number: 1e-7 → `0.0000001`, 1e21 → `1000000000000000000000`. */
export function decimalText(value: number): string {
  const number = parseDecimal(String(value));
  if (number === undefined) throw new RangeError(`expected a finite number, got ${value}`);
  const { sign, digits, exponent } = number;
  if (digits === '') return '0';
  if (exponent >= 0) return sign + digits + '0'.repeat(exponent);
  const point = digits.length + exponent;
  if (point > 0) return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
  return `${sign}0.${'0'.repeat(-point)}${digits}`;
}

/** Whether two number literals mean the same number, as `1.50`, `15e-1` and `1.5` do. False for text that is not a number. */
export function isSameNumber(left: string, right: string): boolean {
  const [a, b] = [parseDecimal(left), parseDecimal(right)];
  if (a === undefined || b === undefined) return false;
  return a.sign === b.sign && a.digits === b.digits && a.exponent === b.exponent;
}

/** The number `digits` × 10^`exponent`. `digits` begin and end with another digit than 0; zero has none. */
type Decimal = { readonly sign: string; readonly digits: string; readonly exponent: number };

const zero: Decimal = { sign: '', digits: '', exponent: 0 };
const numberPattern = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

/** No number in real use is longer. */
const maxLiteralLength = 1_024;

// A double's exponent stays within ±324; a literal beyond that is not a double.
const maxExponent = 400;

function parseDecimal(literal: string): Decimal | undefined {
  if (literal.length > maxLiteralLength) return undefined;
  const match = numberPattern.exec(literal);
  if (!match) return undefined;
  const [, sign = '', whole = '', fraction = '', exponentText = '0'] = match;
  const digits = whole + fraction;
  let begin = 0;
  while (digits[begin] === '0') begin += 1;
  if (begin === digits.length) return zero;
  const exponent = Number(exponentText);
  if (Math.abs(exponent) > maxExponent) return undefined;
  const significant = trimEnd(digits.slice(begin), '0');
  return {
    sign,
    digits: significant,
    exponent: exponent - fraction.length + digits.length - begin - significant.length,
  };
}
