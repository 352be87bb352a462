/** Longest signature that is read; the schema has the same bound. */
export const maxSignatureLength = 512;

/**
 * `mint( address to, uint )` → `mint(address,uint256)`: the canonical form of a signature as people write it, also
 * with names, data locations, visibility and results. Reads each character once, whatever the text is, because
 * tenants write it.
 */
export function canonicalSignature(
  text: string,
): { readonly signature: string } | { readonly fault: TypeFault } {
  if (text.length > maxSignatureLength) return { fault: 'too-deep' };
  const tokens = splitTokens(text.trim());
  const [name] = tokens ?? [];
  if (tokens === undefined || name === undefined || !isWord(name)) return { fault: 'malformed' };
  const inputs = readParameters(tokens, 1);
  if ('fault' in inputs) return inputs;
  const fault = faultOfTail(tokens, inputs.end);
  return fault === undefined ? { signature: `${name}${inputs.text}` } : { fault };
}

// Sticky, and the first character selects the alternative: no position is tried twice.
const tokenPattern = /\s*([A-Za-z_$][A-Za-z0-9_$]*|[(),]|\[[0-9]*\])/y;
const wordStart = /^[A-Za-z_$]/;

function splitTokens(text: string): readonly string[] | undefined {
  const tokens: string[] = [];
  tokenPattern.lastIndex = 0;
  for (let at = 0; at < text.length; at = tokenPattern.lastIndex) {
    const token = tokenPattern.exec(text)?.[1];
    if (token === undefined) return undefined;
    tokens.push(token);
  }
  return tokens;
}

type Parameters = { readonly text: string; readonly end: number };

/** A list of parameters in parentheses that begins at `start`; `end` is the token after it. */
function readParameters(
  tokens: readonly string[],
  start: number,
): Parameters | { readonly fault: TypeFault } {
  if (tokens[start] !== '(') return { fault: 'malformed' };
  const out = ['('];
  let depth = 1;
  let dimensions = 0;
  // first: after "("; type: after ","; dimension: after a type; name: after a name or data location.
  let place: 'first' | 'type' | 'dimension' | 'name' = 'first';
  for (let index = start + 1; index < tokens.length; index += 1) {
    const token = tokens[index]!;
    const isTypePlace = place === 'first' || place === 'type';
    if (token === ')') {
      if (place === 'type') return { fault: 'malformed' };
      out.push(')');
      depth -= 1;
      if (depth === 0) return { text: out.join(''), end: index + 1 };
      place = 'dimension';
      dimensions = 0;
    } else if (isTypePlace) {
      if (token === 'tuple' && tokens[index + 1] === '(') continue;
      const word = token === '(' ? token : canonicalWord(token);
      if (word === undefined) return { fault: 'malformed' };
      out.push(word);
      dimensions = 0;
      place = token === '(' ? 'first' : 'dimension';
      if (token === '(') depth += 1;
    } else if (token === ',') {
      out.push(',');
      place = 'type';
    } else if (isWord(token)) {
      place = 'name';
    } else {
      const dimension =
        place === 'dimension' && token.startsWith('[') ? canonicalDimension(token) : undefined;
      if (dimension === undefined) return { fault: 'malformed' };
      out.push(dimension);
      dimensions += 1;
    }
    if (depth > maxTypeDepth + 1 || dimensions > maxTypeDepth) return { fault: 'too-deep' };
  }
  return { fault: 'malformed' };
}

const visibility: ReadonlySet<string> = new Set([
  'constant',
  'external',
  'internal',
  'nonpayable',
  'payable',
  'private',
  'public',
  'pure',
  'view',
]);

/** What is allowed after the parameters: visibility, then the results. */
function faultOfTail(tokens: readonly string[], start: number): TypeFault | undefined {
  let at = start;
  while (visibility.has(tokens[at] ?? '')) at += 1;
  if (at === tokens.length) return undefined;
  if (tokens[at] !== 'returns') return 'malformed';
  const outputs = readParameters(tokens, at + 1);
  if ('fault' in outputs) return outputs.fault;
  return outputs.end === tokens.length ? undefined : 'malformed';
}

function isWord(token: string): boolean {
  return wordStart.test(token);
}

/** Deepest nesting of tuples in a signature or an ABI, and most dimensions of an array: compilers print far fewer. */
export const maxTypeDepth = 16;
/** Longest text of one type without its components, such as `uint256[3][]`. */
const maxTypeLength = 256;

/** Why a text is not a type or signature that we can read. */
export type TypeFault = 'malformed' | 'too-deep';

/** `uint` → `uint256`; undefined for a word that is not an elementary type of the ABI specification. */
export function canonicalWord(word: string): string | undefined {
  const parts = elementary.exec(word);
  if (parts === null) return undefined;
  const { integer, bits, length } = parts.groups ?? {};
  if (integer !== undefined) {
    if (bits === undefined) return `${integer}256`;
    return Number(bits) <= 256 && Number(bits) % 8 === 0 ? word : undefined;
  }
  return length === undefined || Number(length) <= 32 ? word : undefined;
}

/** `[03]` → `[3]`; undefined when the brackets do not contain a valid length. */
function canonicalDimension(brackets: string): string | undefined {
  const digits = brackets.slice(1, -1);
  if (digits === '') return '[]';
  return digits.length <= 9 ? `[${Number(digits)}]` : undefined;
}

/** A type as JSON ABIs write it, e.g. `tuple[3][]`: its word and its dimensions in canonical form. */
export function splitType(
  text: string,
): { readonly word: string; readonly dimensions: string } | { readonly fault: TypeFault } {
  if (text.length > maxTypeLength) return { fault: 'too-deep' };
  const start = text.indexOf('[');
  if (start === -1) return { word: text, dimensions: '' };
  const dimensions: string[] = [];
  for (let at = start; at < text.length;) {
    const end = text.indexOf(']', at);
    const digits = text.slice(at + 1, end);
    const dimension =
      text[at] === '[' && end !== -1 && wholeNumber.test(digits)
        ? canonicalDimension(text.slice(at, end + 1))
        : undefined;
    if (dimension === undefined) return { fault: 'malformed' };
    if (dimensions.push(dimension) > maxTypeDepth) return { fault: 'too-deep' };
    at = end + 1;
  }
  return { word: text.slice(0, start), dimensions: dimensions.join('') };
}

const elementary =
  /^(?:address|bool|string|bytes(?<length>[1-9][0-9]?)?|(?<integer>u?int)(?<bits>[1-9][0-9]{0,2})?)$/;
const wholeNumber = /^[0-9]*$/;
