/** The client gives a reply as `unknown` until it has been checked. Any unexpected value reads as absent. */

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
