/**
 * The text without this character at its end. An expression such as `/0+$/` does the same in quadratic time: it looks at a
 * run of zeros again from each of them.
 */
export function trimEnd(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return text.slice(0, end);
}
