import { parseInstant, type EpochMs } from '../units/time.js';
import { parseNumberText, type Decimal } from './decimal.js';

/** A number with the digits of the document: a float would already have lost some of them. */
class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A parsed JSON document whose numbers keep their digits. */
export type JsonDocument = { readonly root: unknown };

/** Undefined for text that is not JSON, or nested too deep to read. */
export function parseDocument(text: string): JsonDocument | undefined {
  try {
    return { root: JSON.parse(text, keepDigits) };
  } catch {
    return undefined;
  }
}

/** `context.source` is the text of a number, string, boolean or null; only numbers need it. */
function keepDigits(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === 'number' && context?.source !== undefined ? new JsonNumber(context.source) : value;
}

/** Names and list positions of a path such as `data.prices[0].value`. */
export type DocumentPath = readonly (string | number)[];

/** Parses a path that the FeeToken schema accepts. */
export function parsePath(path: string): DocumentPath {
  return Array.from(path.matchAll(/\[(\d+)\]|[^.[\]]+/g), ([name, place]) =>
    place === undefined ? name : Number(place),
  );
}

/** The number at a path, written as a number or as text; otherwise a text that describes what is there instead. */
export function readNumber(document: JsonDocument, path: DocumentPath): Decimal | string {
  const value = valueAt(document, path);
  const text = value instanceof JsonNumber ? value.text : value;
  if (typeof text !== 'string') return `has ${describe(value)} at ${formatPath(path)}, not a number`;
  return (
    parseNumberText(text.trim()) ??
    `has a text at ${formatPath(path)} that is not a decimal number of at most 80 digits`
  );
}

/**
 * The time at a path: Unix seconds or milliseconds, or RFC 3339; otherwise a text that describes what is there
 * instead.
 */
export function readTime(document: JsonDocument, path: DocumentPath): EpochMs | string {
  const value = valueAt(document, path);
  const text = value instanceof JsonNumber ? value.text : value;
  const time = typeof text === 'string' ? parseTime(text) : undefined;
  return time ?? `has ${describe(value)} at ${formatPath(path)}, not a time`;
}

function parseTime(text: string): EpochMs | undefined {
  if (!/^\d{1,15}(\.\d+)?$/.test(text)) return parseInstant(text);
  const number = Number(text);
  // Seconds reach this value in the year 5138; milliseconds passed it in 1973.
  return Math.floor(number < 100_000_000_000 ? number * 1000 : number) as EpochMs;
}

function valueAt({ root }: JsonDocument, path: DocumentPath): unknown {
  let value: unknown = root;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = Reflect.get(value, step);
  }
  return value;
}

function describe(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (value instanceof JsonNumber) return 'a number';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function formatPath(path: DocumentPath): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .replace(/^\./, '');
}
