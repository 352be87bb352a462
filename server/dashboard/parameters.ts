import { invalidInput, quote, type Problem } from '../../core/errors.js';
import type { JsonSchema } from '../../core/schema/json-schema.js';
import { isObject, parseJson } from '../../core/schema/json-value.js';
import { toAddressKey, type AddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import { parseInstant, type EpochMs } from '../../core/units/time.js';
import { parseEther } from '../../core/units/wei.js';

/** A parameter of a query: how its text is read, and what OpenAPI says about it. */
type Parameter<T> = {
  readonly description: string;
  readonly schema: JsonSchema;
  /** What a text must be, for the error. */
  readonly expected: string;
  /** Undefined for a text that it cannot be. */
  readonly parse: (text: string) => T | undefined;
};

export type Parameters = Readonly<Record<string, Parameter<unknown>>>;
/** The values that were given, by name. */
export type Given<P extends Parameters> = {
  readonly [Name in keyof P]?: P[Name] extends Parameter<infer T> ? T : never;
};

const maxQuery = 8_192;

/**
 * Reads a query string. Throws INVALID_INPUT that names every wrong parameter and, unless `others` are ignored, every
 * unknown or repeated one, and a query that is longer than any in use.
 */
export function readParameters<P extends Parameters>(
  search: string,
  parameters: P,
  others: 'refused' | 'ignored' = 'refused',
): Given<P> {
  // URLSearchParams takes more than linear time for thousands of names.
  if (search.length > maxQuery && others === 'refused')
    throw invalidInput([
      { field: 'query', expected: `at most ${maxQuery} characters`, value: String(search.length) },
    ]);
  const problems: Problem[] = [];
  const given: Record<string, unknown> = {};
  const texts = Map.groupBy(new URLSearchParams(search), ([name]) => name);
  for (const [name, [first, ...more]] of texts) {
    const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    const text = first?.[1] ?? '';
    if (parameter === undefined) {
      if (others === 'ignored') continue;
      const known = Object.keys(parameters).join(', ');
      problems.push({ field: 'query', expected: `made of ${known}`, value: quote(name) });
      continue;
    }
    const { expected, parse } = parameter;
    if (more.length > 0 && others === 'refused')
      problems.push({ field: name, expected: 'given once', value: `${texts.get(name)?.length} times` });
    const value = parse(text);
    if (value === undefined) problems.push({ field: name, expected, value: quote(text) });
    given[name] = value;
  }
  if (problems.length > 0) throw invalidInput(problems);
  return given as Given<P>;
}

/** Of texts of one pattern; `read` is given no other. */
function matching<T>(pattern: RegExp, expected: string, read: (text: string) => T | undefined) {
  return (description: string): Parameter<T> => ({
    description,
    schema: { type: 'string', pattern: pattern.source },
    expected,
    parse: (text) => (pattern.test(text) ? read(text) : undefined),
  });
}

function lowercase(text: string): Hex {
  return text.toLowerCase() as Hex;
}

export function instant(description: string): Parameter<EpochMs> {
  return {
    description,
    schema: { type: 'string', format: 'date-time' },
    expected: 'a time in UTC such as 2026-01-31T00:00:00Z',
    parse: (text) => {
      const at = parseInstant(text);
      return at !== undefined && text.endsWith('Z') && at >= 0 ? at : undefined;
    },
  };
}

/** Its first moment (UTC). */
export const month = matching(/^\d{4}-(0[1-9]|1[0-2])$/, 'a month such as 2026-01', (text) => {
  const at = Date.parse(`${text}-01T00:00:00Z`) as EpochMs;
  return at >= 0 ? at : undefined;
});

export function oneOf<const T extends string>(description: string, values: readonly T[]): Parameter<T> {
  return {
    description,
    schema: { type: 'string', enum: values },
    expected: `one of ${values.map((value) => `"${value}"`).join(', ')}`,
    parse: (text) => values.find((value) => value === text),
  };
}

export function integer(description: string, minimum: number, maximum: number): Parameter<number> {
  return {
    description,
    schema: { type: 'integer', minimum, maximum },
    expected: `an integer from ${minimum} to ${maximum}`,
    parse: (text) => {
      const value = /^\d{1,9}$/.test(text) ? Number(text) : -1;
      return value >= minimum && value <= maximum ? value : undefined;
    },
  };
}

export function boolean(description: string): Parameter<boolean> {
  return {
    description,
    schema: { type: 'boolean' },
    expected: 'true or false',
    parse: (text) => (text === 'true' || text === 'false' ? text === 'true' : undefined),
  };
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function uuid(description: string): Parameter<string> {
  return {
    description,
    schema: { type: 'string', format: 'uuid' },
    expected: 'a UUID in lowercase',
    parse: (text) => (uuidPattern.test(text) ? text : undefined),
  };
}

export const address = matching(
  /^0x[0-9a-fA-F]{40}$/,
  'an address: 0x and 40 hex digits',
  (text): AddressKey => toAddressKey(text as Hex),
);

export const hash = matching(/^0x[0-9a-fA-F]{64}$/, '0x and 64 hex digits', lowercase);

/** The first four bytes of the data of a call. */
export const selector = matching(/^0x[0-9a-fA-F]{8}$/, '0x and 8 hex digits', lowercase);

/** An amount in the native coin of a chain. */
export const coins = matching(
  /^[0-9]{1,18}(\.[0-9]{1,18})?$/,
  'an amount such as 0.05, with at most 18 decimals',
  parseEther,
);

/** A name that people gave. */
export function name(description: string): Parameter<string> {
  return {
    description,
    schema: { type: 'string', minLength: 1, maxLength: 256 },
    expected: 'a name of 1 to 256 characters',
    parse: (given) => (given.length > 0 && given.length <= 256 ? given : undefined),
  };
}

/** Visible ASCII characters. */
export function text(description: string, maxLength: number): Parameter<string> {
  return {
    description,
    schema: { type: 'string', minLength: 1, maxLength },
    expected: `1 to ${maxLength} visible ASCII characters`,
    parse: (given) => (/^[\x21-\x7e]+$/.test(given) && given.length <= maxLength ? given : undefined),
  };
}

/** Where a page ends, as a text that says nothing that its caller does not know. */
export function encodeCursor(content: object): string {
  return Buffer.from(JSON.stringify(content)).toString('base64url');
}

/** Anyone can write a cursor: empty for a text that is not one, and its members may be anything. */
export function decodeCursor(text: string): Readonly<Record<string, unknown>> {
  const content = parseJson(Buffer.from(text, 'base64url').toString());
  return isObject(content) ? content : {};
}
