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
export function canonicalDimension(brackets: string): string | undefined {
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
