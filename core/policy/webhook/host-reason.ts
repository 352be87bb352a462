/** Longest reason from a host that is passed on, in characters. */
export const maxReasonLength = 200;

/**
 * The reason that a webhook host gave, in a form that may be shown to anyone: one line of printable text, cut when it
 * is too long. A host may repeat what its caller sent. Undefined for anything else.
 */
export function cleanReason(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  // Looks only at the part that could be shown.
  const text = value
    .slice(0, 4 * maxReasonLength)
    .toWellFormed()
    .replace(/[\p{C}\p{Z}]+/gu, ' ')
    .trim();
  const characters = Array.from(text);
  if (characters.length === 0) return undefined;
  return characters.length <= maxReasonLength
    ? text
    : `${characters.slice(0, maxReasonLength - 1).join('')}…`;
}
