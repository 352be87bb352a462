import { readFile, stat } from 'node:fs/promises';
import type { Clock } from '../core/units/time.js';

/** A mounted file is checked at most this often. Kubernetes takes up to a minute to swap mounted secrets anyway. */
const recheckMs = 1_000;

type Deps<T> = {
  readonly clock: Clock;
  readonly parse: (text: string) => T;
  /** The file cannot be used now; its last usable content stays. */
  readonly onUnusable: () => void;
};

/**
 * What a mounted file says, read again when it changes. A file that is being replaced, or that an edit broke, must not
 * cut off what worked a second ago. Rejects with the error of `parse` or of reading while it has never been usable.
 */
export function createMountedFile<T>(path: string, { clock, parse, onUnusable }: Deps<T>): () => Promise<T> {
  let known: { readonly version: string; readonly value: T } | undefined;
  let checkedAt = -Infinity;
  return async () => {
    if (known !== undefined && clock.now() - checkedAt < recheckMs) return known.value;
    try {
      const { mtimeMs, ino, size } = await stat(path);
      const version = `${mtimeMs}:${ino}:${size}`;
      if (known?.version !== version) known = { version, value: parse(await readFile(path, 'utf8')) };
    } catch (error) {
      if (known === undefined) throw error;
      onUnusable();
    }
    checkedAt = clock.now();
    return known.value;
  };
}
