import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../../core/log.js';
import type { Clock } from '../../../core/units/time.js';

type Headers = Readonly<Record<string, string>>;

/** Reads mounted header files by name. Rejects with HeadersUnusable if the file has never been usable. */
type HeaderFiles = { read(file: string): Promise<Headers> };

/** What is wrong with a header file; the message never quotes a value, which is a key. */
export class HeadersUnusable extends Error {}

type Deps = { readonly directory: string | undefined; readonly clock: Clock; readonly log: Logger };
type FileHeaders = { readonly version: string; readonly headers: Headers };

/** A mounted file is checked at most this often. Kubernetes takes up to a minute to swap mounted secrets anyway. */
const recheckMs = 1_000;
const namePattern = /^[A-Za-z0-9][A-Za-z0-9-]{0,63}$/;
const valuePattern = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/;
/** Headers that belong to the connection: a file that set them could garble requests of others. */
const reserved = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'upgrade',
  'expect',
  'te',
]);

/**
 * Header files of a directory, one `name: value` per line, read again when they change. A file that is being replaced,
 * or that an edit broke, does not cut off a source that worked a second ago: its last usable content stays.
 */
export function createHeaderFiles({ directory, clock, log }: Deps): HeaderFiles {
  const known = new Map<string, FileHeaders>();
  const checkedAt = new Map<string, number>();

  return {
    async read(file) {
      const before = known.get(file);
      if (before !== undefined && clock.now() - (checkedAt.get(file) ?? -Infinity) < recheckMs)
        return before.headers;
      try {
        const now = await load(file, before);
        known.set(file, now);
        checkedAt.set(file, clock.now());
        return now.headers;
      } catch (error) {
        if (before === undefined) throw error;
        log.warn('header file not usable, keeping the last one', { file });
        checkedAt.set(file, clock.now());
        return before.headers;
      }
    },
  };

  async function load(file: string, before: FileHeaders | undefined): Promise<FileHeaders> {
    if (directory === undefined)
      throw new HeadersUnusable(`needs header file "${file}", and no directory of them is mounted`);
    const path = join(directory, file);
    try {
      const { mtimeMs, ino, size } = await stat(path);
      const version = `${mtimeMs}:${ino}:${size}`;
      if (before?.version === version) return before;
      return { version, headers: parseHeaders(await readFile(path, 'utf8'), file) };
    } catch (error) {
      if (error instanceof HeadersUnusable) throw error;
      throw new HeadersUnusable(`needs header file "${file}", which cannot be read`, { cause: error });
    }
  }
}

/** Lines `name: value`; empty ones and those that begin with "#" are left out. */
function parseHeaders(text: string, file: string): Headers {
  const headers: Record<string, string> = {};
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0)).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (!namePattern.test(name) || !valuePattern.test(value) || reserved.has(name))
      throw new HeadersUnusable(
        `needs header file "${file}", whose line ${index + 1} must be "name: value" of a header that may be set`,
      );
    headers[name] = value;
  }
  return headers;
}
