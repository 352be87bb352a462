import { isSameNumber } from '../../core/units/decimal-text.js';
import { DomainError, invalidInput, type Problem } from '../../core/errors.js';

/** Each value is compared with its text, which takes microseconds. The largest in real use are the 10,000 addresses of a paymaster in a what-if. */
const maxValues = 12_000;

/**
 * Parses JSON and refuses values that would change silently. A number that a double cannot hold (9007199254740993, or an
 * amount of 20 digits) would become another number, and half a surrogate pair would become another character when it is
 * stored. The error names the member. Throws DomainError INVALID_INPUT.
 */
export function parseJson(text: string): unknown {
  if (countValues(text) > maxValues)
    throw invalidInput({ field: 'body', expected: `at most ${maxValues} values` });
  const problems: Problem[] = [];
  let value: unknown;
  try {
    value = JSON.parse(text, (key, parsed: unknown, context?: { readonly source?: string }) => {
      const expected = fault(parsed, context?.source);
      if (expected !== undefined) problems.push({ field: key === '' ? 'body' : key, expected });
      return parsed;
    });
  } catch {
    // Also thrown for nesting that is too deep for the parser. The parser's own message would quote the body, including secrets.
    throw new DomainError('INVALID_INPUT', 'body must be valid JSON');
  }
  if (problems.length > 0) throw invalidInput(problems);
  return value;
}

/** Values of JSON text, by the commas outside of its strings. */
function countValues(text: string): number {
  let count = 1;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') isInString = !isInString;
    else if (isInString && character === '\\') at += 1;
    else if (!isInString && character === ',') count += 1;
  }
  return count;
}

/** What the value should have been; undefined when the parsed value equals its source text. */
function fault(value: unknown, source: string | undefined): string | undefined {
  if (typeof value === 'string' && !value.isWellFormed()) return 'well-formed Unicode text';
  if (typeof value === 'number' && !isExact(value, source)) return 'a number that fits a double exactly';
  return undefined;
}

function isExact(value: number, source: string | undefined): boolean {
  if (!Number.isFinite(value)) return false;
  const text = String(value);
  return source === undefined || source === text || isSameNumber(source, text);
}
