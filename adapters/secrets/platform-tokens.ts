import { readFile } from 'node:fs/promises';
import { DomainError } from '../../core/errors.js';
import type { Logger } from '../../core/log.js';
import { optional } from '../../core/settings.js';
import type { PlatformTokens } from '../../core/secrets.js';
import type { Clock, EpochMs } from '../../core/units/time.js';

export const platformTokenSettings = {
  platformTokensFile: optional(
    'PAYMASTER_PLATFORM_TOKENS_FILE',
    'Tokens of the platform for /manage/v1/platform of the dashboard: a line "SHA256 NAME" for each. Absent: nobody reaches it.',
  ),
};

/** A token that is taken out of the file is refused after this time. */
const readAgainMs = 1_000;
const maxTokens = 100;

/**
 * The platform's tokens by a mounted file: a line `SHA256 NAME` for each, `#` begins a comment. A file that cannot be read, or has a
 * wrong line, accepts nobody.
 */
export function createPlatformTokens(deps: {
  readonly file: string;
  readonly clock: Clock;
  readonly log: Logger;
}): PlatformTokens {
  const { file, clock, log } = deps;
  let known: { readonly at: EpochMs; readonly names: Promise<ReadonlyMap<string, string>> } | undefined;

  async function read(): Promise<ReadonlyMap<string, string>> {
    try {
      return parseTokens(await readFile(file, 'utf8'));
    } catch (error) {
      log.error('tokens of the platform not read', { file, error });
      throw new DomainError('UNAVAILABLE', 'The tokens of the platform cannot be read', { cause: error });
    }
  }

  return {
    async nameOf(sha256) {
      const now = clock.now();
      if (known === undefined || Math.abs(now - known.at) >= readAgainMs) known = { at: now, names: read() };
      // Found by its hash, so the time of a look-up reveals nothing about a token.
      return (await known.names).get(sha256);
    },
  };
}

/** Throws INVALID_INPUT, which names the line and quotes nothing of it. */
export function parseTokens(text: string): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const [at, line] of text.split('\n').entries()) {
    const content = line.replace(/#.*/, '').trim();
    if (content === '') continue;
    const [, sha256 = '', name] = /^([0-9a-f]{64})\s+(\S{1,64})$/.exec(content) ?? [];
    if (name === undefined || names.has(sha256))
      throw new DomainError(
        'INVALID_INPUT',
        `line ${at + 1} must be the SHA-256 of a token, 64 lowercase hex digits, and its name, and be there once`,
      );
    names.set(sha256, name);
  }
  if (names.size > maxTokens)
    throw new DomainError('INVALID_INPUT', `there must be at most ${maxTokens} tokens, got ${names.size}`);
  return names;
}
