import { types } from 'node:util';
import type { LogFields } from '../../core/log.js';

/**
 * Guarantees: a value under a name that sounds secret is replaced at any depth; bigint, Error, Map and cyclic values
 * become plain JSON; nothing here throws. `redactText` is the second check: it gets the finished line, so it also
 * catches a key inside a URL or an error message.
 */
export function redactFields(fields: LogFields): Record<string, unknown> {
  return redactEntries(Object.entries(fields), 0);
}

const replacement = '[redacted]';
const maxDepth = 6;
const maxItems = 50;
const maxText = 2000;

// Compared without case and separators: `X-Api-Key`, `apiKey` and `api_key` are the same name.
const secretNames = new Set([
  'apikey',
  'authtoken',
  'authorization',
  'cookie',
  'setcookie',
  'credentials',
  'masterkey',
  'masterkeys',
  'mnemonic',
  'password',
  'passphrase',
  'paymasteranddata',
  'privatekey',
  'secret',
  'secrets',
  'signature',
  'signerkey',
  'signingkey',
  'token',
  'tokens',
  'webhookkey',
  'xsignature',
]);

// `<9 characters>.<uuid>`, as in RPC paths; and 65 bytes of hex, which are a signature wherever they occur.
const apiKeyShape = /[A-Za-z0-9_-]{9}\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;
const signatureShape = /(?<![0-9a-f])(?:0x)?[0-9a-f]{130}(?![0-9a-f])/gi;
const bearerShape = /\b(Bearer|Basic) [A-Za-z0-9._~+/=-]{8,}/gi;
const userInfoShape = /:\/\/[^\s/@"']+@/g;

/** Replaces known secrets and secret shapes in a finished line. */
export function redactText(line: string, secrets: readonly string[]): string {
  let text = line
    .replace(apiKeyShape, replacement)
    .replace(signatureShape, replacement)
    .replace(bearerShape, `$1 ${replacement}`)
    .replace(userInfoShape, `://${replacement}@`);
  for (const secret of secrets) text = text.replaceAll(secret, replacement);
  return text;
}

function redactEntries(entries: Iterable<[string, unknown]>, depth: number): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [name, value] of entries) {
    out[name] =
      isSecretName(name) && value !== undefined && value !== null ? replacement : redact(value, depth);
  }
  return out;
}

function isSecretName(name: string): boolean {
  return secretNames.has(name.toLowerCase().replace(/[-_.\s]/g, ''));
}

function redact(value: unknown, depth: number): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'string') return value.length > maxText ? `${value.slice(0, maxText)}…` : value;
  if (typeof value === 'function' || typeof value === 'symbol') return `[${typeof value}]`;
  if (typeof value !== 'object' || value === null) return value;
  // The depth also bounds cyclic values; a line that deep is of no use to anybody.
  if (depth >= maxDepth) return '[deep]';
  if (types.isNativeError(value)) return redactError(value, depth);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (value instanceof Uint8Array) return `[${value.length} bytes]`;
  if (Array.isArray(value)) return value.slice(0, maxItems).map((item) => redact(item, depth + 1));
  if (value instanceof Map) return redact(Object.fromEntries(value), depth);
  if (value instanceof Set) return redact([...value], depth);
  return redactEntries(Object.entries(value), depth + 1);
}

function redactError(error: Error, depth: number): Record<string, unknown> {
  const { name, message, stack, cause, ...rest } = error;
  return {
    name,
    message,
    ...redactEntries(Object.entries(rest), depth + 1),
    ...(stack === undefined ? {} : { stack }),
    ...(cause === undefined ? {} : { cause: redact(cause, depth + 1) }),
  };
}
