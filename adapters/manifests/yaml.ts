import {
  Document,
  parse,
  parseAllDocuments,
  visit,
  type ParseOptions,
  type DocumentOptions,
  type ScalarTag,
  type SchemaOptions,
} from 'yaml';
import { printable, printableYaml } from '../../core/terminal-text.js';

const words: ReadonlyMap<string, boolean | null | number> = new Map<string, boolean | null | number>([
  ...['y', 'yes', 'true', 'on'].flatMap((word) => listCases(word).map((text) => [text, true] as const)),
  ...['n', 'no', 'false', 'off'].flatMap((word) => listCases(word).map((text) => [text, false] as const)),
  ...['', '~', ...listCases('null')].map((text) => [text, null] as const),
  ...['.inf', '.Inf', '.INF'].flatMap((text) => [
    [text, Infinity] as const,
    [`+${text}`, Infinity] as const,
    [`-${text}`, -Infinity] as const,
  ]),
  ...['.nan', '.NaN', '.NAN'].map((text) => [text, Number.NaN] as const),
]);

function listCases(word: string): readonly string[] {
  return [word, `${word.charAt(0).toUpperCase()}${word.slice(1)}`, word.toUpperCase()];
}

const wholeNumber = /^[-+]?(?:0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|0|[1-9][0-9]*)$/;
const decimalNumber = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const [least, most] = [-(2n ** 63n), 2n ** 64n - 1n];

/**
 * A plain value as kubectl reads it, which is YAML 1.1 as Go's library knows it: booleans such as `on`, numbers with prefixes and
 * underscores as far as 64 bits hold them; no dates, and nothing to the base of 60. So an address without quotes is text.
 */
function plainValue(text: string): string | number | boolean | null {
  const word = words.get(text);
  if (word !== undefined) return word;
  if (!/^[-+.0-9]/.test(text)) return text;
  // After a point underscores must separate digits; elsewhere they are nothing.
  if (text.startsWith('.') && /_(?![0-9])|[^0-9]_/.test(text)) return text;
  const plain = text.replaceAll('_', '');
  // Go reads what follows 0b by itself, with its sign.
  const signed = /^0b([-+])([01]+)$/.exec(plain);
  if (signed !== null) return Number(`${signed[1]}${BigInt(`0b${signed[2]}`)}`);
  if (wholeNumber.test(plain)) {
    const value = parseWhole(plain);
    if (value >= least && value <= most) return Number(value);
  }
  const decimal = decimalNumber.test(plain) ? Number(plain) : Infinity;
  return Number.isFinite(decimal) ? decimal : text;
}

function parseWhole(plain: string): bigint {
  const digits = plain.replace(/^[-+]/, '').toLowerCase();
  const value = BigInt(/^0[0-7]+$/.test(digits) ? `0o${digits}` : digits);
  return plain.startsWith('-') ? -value : value;
}

const yamlTag = (name: string) => `tag:yaml.org,2002:${name}`;
const kept: ReadonlySet<string> = new Set(['map', 'seq', 'str', 'merge'].map(yamlTag));

/** Reads as kubectl does, `<<` included. */
export const asKubectl: ParseOptions & DocumentOptions & SchemaOptions = {
  version: '1.1',
  prettyErrors: false,
  customTags: (tags) => [
    ...tags.filter((tag) => typeof tag === 'string' || kept.has(tag.tag)),
    { tag: yamlTag('plain'), default: true, test: /^/, resolve: plainValue },
    ...['int', 'float', 'bool', 'null'].map((name): ScalarTag => ({
      tag: yamlTag(name),
      resolve: plainValue,
    })),
  ],
};

/** One document, as YAML or JSON, without anything that its text does not say. Throws the message of the parser, without lines of the document. */
export function readYaml(text: string): unknown {
  return parse(text, { ...asKubectl, maxAliasCount: 0 });
}

/** All documents of a text that kubectl wrote. Throws as `readYaml`. */
export function readYamlDocuments(text: string): readonly unknown[] {
  const documents = parseAllDocuments(text, asKubectl);
  return [...documents].map((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    return document.toJS({ maxAliasCount: 0 }) as unknown;
  });
}

/**
 * YAML for somebody who copies it into a file. What a reader of YAML 1.1 takes as something else than text, such as `on` or `1_000`, has
 * quotes. Characters that a terminal obeys are escapes, so that programs read them unchanged.
 */
export function renderYaml(part: Readonly<Record<string, unknown>>): string {
  const document = new Document(part, { compat: 'yaml-1.1' });
  visit(document, {
    Scalar(_, scalar) {
      const { value } = scalar;
      // Only text in double quotes may have escapes.
      if (typeof value === 'string' && (printable(value) !== value || typeof plainValue(value) !== 'string'))
        scalar.type = 'QUOTE_DOUBLE';
    },
  });
  // Without a width: where it folds a text in quotes, the library cuts characters beyond U+FFFF into halves.
  return printableYaml(document.toString({ lineWidth: 0 }));
}
