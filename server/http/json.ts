import { plainDecimal } from '../../core/units/decimal-text.js';
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
