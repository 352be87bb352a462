import { createHash } from 'node:crypto';
import type { ChainConfig } from './chain-config.js';
import type { PaymasterConfig } from './paymaster-config.js';

/**
 * The content as canonical JSON (members sorted by name) and its SHA-256. `configGeneration` is left out, because it
 * counts changes of the content. Equal content gives equal text in every store.
 */
export function hashContent(config: PaymasterConfig | ChainConfig): {
  readonly text: string;
  readonly hash: string;
} {
  const { configGeneration: _, ...content } = config;
  const text = canonicalJson(content);
  return { text, hash: createHash('sha256').update(text).digest('hex') };
}

export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}
