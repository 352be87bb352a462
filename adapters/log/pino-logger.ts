import { types } from 'node:util';
import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino';
import type { LogFields, Logger } from '../../core/log.js';
import { printableJson } from '../../core/terminal-text.js';

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

export type LoggerOptions = {
  /** Lines below this level are not written. Default `info`. */
  readonly level?: LogLevel;
  /** Fields of every line, e.g. the role of the process. */
  readonly base?: LogFields;
  /**
   * Secret texts of this process (tokens, master keys as hex). They are replaced wherever they occur in a line, in any
   * field. Texts shorter than 8 characters are ignored: they would blank ordinary words.
   */
  readonly secrets?: readonly string[];
  /** Where lines go. Default standard output, written synchronously, so that the last lines before a crash are kept. */
  readonly destination?: DestinationStream;
};

/**
 * JSON lines `{level, time, msg, …fields}` with the level as text and the time as RFC 3339. Values under names that
 * sound secret, and texts in the form of an apiKey or a signature, never reach the destination (see `redactText`).
 * Characters that a terminal obeys are escaped.
 */
export function createLogger(options: LoggerOptions = {}): Logger {
  const secrets = (options.secrets ?? []).filter((secret) => secret.length >= 8);
  const settings = {
    level: options.level ?? 'info',
    base: options.base === undefined ? null : redactFields(options.base),
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    hooks: { streamWrite: (line: string) => printableJson(redactText(line, secrets)) },
  };
  return wrap(pino(settings, options.destination ?? pino.destination({ fd: 1, sync: true })));
}

function wrap(log: PinoLogger): Logger {
  const write = (level: 'debug' | 'info' | 'warn' | 'error') => (message: string, fields?: LogFields) => {
    if (!log.isLevelEnabled(level)) return;
    if (fields === undefined) log[level](message);
    else log[level](redactFields(fields), message);
  };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (fields) => wrap(log.child(redactFields(fields))),
  };
}

/**
 * Guarantees: a value under a name that sounds secret is replaced at any depth; bigint, Error, Map and cyclic values
 * become plain JSON; nothing here throws. `redactText` is the second check: it gets the finished line, so it also
 * catches a key inside a URL or an error message.
 */
function redactFields(fields: LogFields): Record<string, unknown> {
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
