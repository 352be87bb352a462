// Text of tenants and callers must neither move a terminal's cursor nor change the order in which other text is shown, so
// controls (C0 and C1), format characters (those that set the direction of text are among them) and separators of lines go.
const obeyed = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;
const obeyedButLineFeed = /(?:(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}])+/gu;
/** Those that JSON leaves as they are. */
const obeyedInJson = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Makes text from outside safe to print on one line of a terminal. */
export function printable(text: string): string {
  return text.replace(obeyed, ' ');
}

/** The same for a text of several lines. */
export function printableLines(text: string): string {
  return text.replace(obeyedButLineFeed, ' ');
}

/** The same JSON, with such characters written as escapes: two of them for a character beyond U+FFFF. */
export function printableJson(json: string): string {
  return json.replace(obeyedInJson, (character) =>
    Array.from({ length: character.length }, (_, i) => formatEscape('u', 4, character.charCodeAt(i))).join(
      '',
    ),
  );
}

/** The same YAML, all of whose texts with such characters are in double quotes: one escape for each character. */
export function printableYaml(yaml: string): string {
  return yaml.replace(obeyedInJson, (character) => {
    const point = character.codePointAt(0)!;
    return point > 0xff_ff ? formatEscape('U', 8, point) : formatEscape('u', 4, point);
  });
}

function formatEscape(letter: string, digits: number, value: number): string {
  return `\\${letter}${value.toString(16).padStart(digits, '0')}`;
}
