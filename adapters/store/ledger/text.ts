/**
 * What callers, hosts, contracts and tenants choose may hold characters that a database cannot: PostgreSQL takes no zero character,
 * and neither takes half of a surrogate pair. They become U+FFFD, alike in both, because a bad text must not stop what it is stored with.
 */
export function storable(text: string): string {
  if (text.isWellFormed() && !text.includes('\0')) return text;
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}

export function storableOrNull(text: string | undefined): string | null {
  return text === undefined ? null : storable(text);
}

/** As JSON writes them. */
const notStorable = /\\u0000|\\ud[89ab]|\\ud[c-f]/i;

export function storableJson(value: unknown): string {
  const text = JSON.stringify(value);
  if (!notStorable.test(text)) return text;
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member === 'string' ? storable(member) : member,
  );
}

const maxKeyTextLength = 400;

/** A text in the key of a sum. PostgreSQL cannot store a key of more than about 2.7 kB, and names may be long. */
export function keyText(text: string): string {
  return storable(text.length <= maxKeyTextLength ? text : text.slice(0, maxKeyTextLength));
}
