/** What the client gives for a reply is unknown until it was looked at. Anything unexpected reads as absent. */

export function listOf(reply: unknown): readonly unknown[] {
  return Array.isArray(reply) ? reply : [];
}

export function textOf(reply: unknown): string | undefined {
  if (typeof reply === 'string') return reply;
  return typeof reply === 'number' ? String(reply) : undefined;
}

export function textsOf(reply: unknown): readonly (string | undefined)[] {
  return listOf(reply).map(textOf);
}
