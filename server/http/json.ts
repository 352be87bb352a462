import { DomainError, invalidInput } from '../../core/errors.js';
import type { Problem } from '../../core/errors.js';

/**
 * Parses JSON whose values mean what they say. A number that a double cannot hold (9007199254740993, or an amount of 20
 * digits) would silently become another one, and half a surrogate pair another character when it is stored, so both are
 * refused by name. Throws DomainError INVALID_INPUT.
 */
export function parseJson(text: string): unknown {
  const problems: Problem[] = [];
  let value: unknown;
  try {
    value = JSON.parse(text, (key, parsed: unknown, context?: { readonly source?: string }) => {
      const expected = fault(parsed, context?.source);
      if (expected !== undefined) problems.push({ field: key === '' ? 'body' : key, expected });
      return parsed;
    });
  } catch {
    // Also nesting so deep that the parser gives up. The parser's own message would quote the body, secrets included.
    throw new DomainError('INVALID_INPUT', 'body must be valid JSON');
  }
  if (problems.length > 0) throw invalidInput(problems);
  return value;
}

/** Exact plain decimal text of a finite number: 1e-7 → `0.0000001`, 1e21 → `1000000000000000000000`. */
export function decimalText(value: number): string {
  const text = plainDecimal(String(value));
  if (text === undefined) throw new RangeError(`expected a finite number, got ${value}`);
  return text;
}

const numberPattern = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

/** No number that a person or a program means is written longer, and what follows takes more than linear time. */
const maxLiteralLength = 1_024;

// A double's exponent stays within ±324; a literal beyond it is no double, and padding it would fill the memory.
const maxExponent = 400;

/** What a parsed value should have been; undefined when it is what its source says. */
function fault(value: unknown, source: string | undefined): string | undefined {
  if (typeof value === 'string' && !value.isWellFormed()) return 'well-formed Unicode text';
  if (typeof value === 'number' && !isExact(value, source)) return 'a number that fits a double exactly';
  return undefined;
}

function isExact(value: number, source: string | undefined): boolean {
  if (!Number.isFinite(value)) return false;
  return source === undefined || plainDecimal(source) === plainDecimal(String(value));
}

/** Canonical plain decimal of a number literal, so that `1.50`, `15e-1` and `1.5` compare equal. */
function plainDecimal(literal: string): string | undefined {
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
