/** Bytes that a match may look back. */
const window = 8_192;
const slots = 8_192;
/** The last bytes of the input are never the begin of a match. */
const tail = 14;
const maxLiteralRun = 32;
const maxMatch = 262;
const minMatch = 3;

/**
 * Number of bytes after compression with FastLZ (level 1, as in Solady's `LibZip.flzCompress`), without compressing.
 * Linear in the length. Every three bytes are looked up where the same three stood last; a match takes two bytes, a long
 * one three, and 32 bytes between matches take one more.
 */
export function fastLzSize(bytes: Uint8Array): number {
  const lastSeen = new Int32Array(slots);
  const limit = bytes.length - tail;
  const three = (at: number): number =>
    (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16);
  let size = 0;
  /** Begin of the bytes that are in no match yet. */
  let anchor = 0;
  let at = 2;
  while (at < limit) {
    const here = three(at);
    const slot = hash(here);
    const before = lastSeen[slot] ?? 0;
    lastSeen[slot] = at;
    if (at - before >= window || three(before) !== here) {
      at += 1;
      continue;
    }
    size += literals(at - anchor);
    const end = endOfMatch(bytes, before, at);
    size += match(end - at);
    // The two places at the end of a match are remembered; those inside are not.
    anchor = end;
    lastSeen[hash(three(end - 2))] = end - 2;
    lastSeen[hash(three(end - 1))] = end - 1;
    at = end;
  }
  return size + literals(bytes.length - anchor);
}

function hash(value: number): number {
  return (Math.imul(2_654_435_769, value) >>> 19) & (slots - 1);
}

/** A match that is cut off near the end of the input is one byte shorter than the bytes that are equal. */
function endOfMatch(bytes: Uint8Array, before: number, at: number): number {
  const last = bytes.length - 4 - at;
  for (let length = minMatch; length < last; length += 1)
    if (bytes[before + length] !== bytes[at + length]) return at + length;
  return at + last - 1;
}

function literals(count: number): number {
  return count === 0 ? 0 : count + Math.ceil(count / maxLiteralRun);
}

function match(length: number): number {
  const rest = length - minMatch;
  return 3 * Math.floor(rest / maxMatch) + (rest % maxMatch >= 6 ? 3 : 2);
}
