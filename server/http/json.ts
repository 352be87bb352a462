import { DomainError, invalidInput, quote, type Problem } from '../../core/errors.js';
import { isObject } from '../../core/schema/json-value.js';
import { isSameNumber } from '../../core/units/decimal-text.js';

/**
 * Each value is compared with its text, which takes microseconds. The largest body in real use has the 10,000 addresses of a paymaster in
 * a what-if.
 */
const maxValues = 12_000;

/**
 * Parses JSON and refuses values that would change silently. A number that a double cannot hold (9007199254740993, or an
 * amount of 20 digits) would become another number, and half a surrogate pair would become another character when it is
 * stored. The error names the member. Throws DomainError INVALID_INPUT.
 */
export function parseJson(text: string): unknown {
  const { values, depth, mayChange } = scanText(text);
  if (values > maxValues) throw invalidInput({ field: 'body', expected: `at most ${maxValues} values` });
  // What walks through the value afterwards calls itself for each level.
  if (depth > maxDepth)
    throw invalidInput({ field: 'body', expected: `nested at most ${maxDepth} levels deep` });
  const problems: Problem[] = [];
  const compare = (key: string, parsed: unknown, context?: { readonly source?: string }): unknown => {
    const expected = fault(parsed, context?.source);
    if (expected !== undefined) problems.push({ field: key === '' ? 'body' : key, expected });
    return parsed;
  };
  let value: unknown;
  try {
    value = JSON.parse(text, mayChange ? compare : undefined);
  } catch {
    // Also thrown for nesting that is too deep for the parser. The parser's own message would quote the body, including secrets.
    throw new DomainError('INVALID_INPUT', 'body must be valid JSON');
  }
  if (problems.length > 0) throw invalidInput(problems);
  return value;
}

/** A value that must be an object, by default the body. Throws INVALID_INPUT. `expected`: what such an object has. */
export function requireObject(
  value: unknown,
  field = 'body',
  expected = 'a JSON object',
): Readonly<Record<string, unknown>> {
  if (isObject(value)) return value;
  throw invalidInput({ field, expected, value: quote(value) });
}

/** Members of a body that are not among those that are known; `expected` names these for people. */
export function otherMembers(body: object, known: readonly string[], expected: string): readonly Problem[] {
  const others = Object.keys(body).filter((member) => !known.includes(member));
  return others.map((member) => ({ field: 'body', expected, value: quote(member) }));
}

/** No body in real use has a tenth as many levels. */
const maxDepth = 200;
/** A whole number of so many digits is exact. */
const exactDigits = 15;

/**
 * How many values JSON text has, by the commas outside of its strings, how deep it is nested, and whether one of them could be read as
 * another one: only numbers that are long or not whole, and characters that are written as `\u…`. A list of addresses has neither.
 */
function scanText(text: string) {
  let values = 1;
  let depth = 0;
  let level = 0;
  let mayChange = false;
  let isInString = false;
  let digits = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quotationMark) isInString = !isInString;
    else if (isInString) {
      if (code !== backslash) continue;
      at += 1;
      if (text.charCodeAt(at) === letterU) mayChange = true;
    } else if (code >= digitZero && code <= digitNine) {
      digits += 1;
      if (digits > exactDigits) mayChange = true;
    } else {
      if (code === comma) values += 1;
      else if (code === openList || code === openObject) depth = Math.max(depth, (level += 1));
      else if (code === closeList || code === closeObject) level -= 1;
      // The e of "true" follows no digit.
      else if (digits > 0 && (code === point || code === letterE || code === capitalE)) mayChange = true;
      digits = 0;
    }
  }
  return { values, depth, mayChange };
}

const [quotationMark, backslash, comma, point] = [0x22, 0x5c, 0x2c, 0x2e];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];
const [digitZero, digitNine, letterE, capitalE, letterU] = [0x30, 0x39, 0x65, 0x45, 0x75];

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
