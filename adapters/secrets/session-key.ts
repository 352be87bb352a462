import type { Ambient } from '../../core/ambient.js';
import { readSessionKey } from './master-keys.js';

const everyMs = 5_000;

/**
 * The key that seals sessions of the console, as it is mounted now. A new one ends all sessions. While the file cannot be read the
 * former key goes on. Rejects when there is none at the start.
 */
export async function createSessionKey({
  directory,
  log,
}: Pick<Ambient, 'log'> & { readonly directory: string }) {
  let key = await readSessionKey(directory);
  let failure: string | undefined;
  const timer = setInterval(() => {
    readSessionKey(directory).then(
      (next) => {
        key = next;
        failure = undefined;
      },
      (error: unknown) => {
        if (String(error) !== failure) log.warn('reading the session key failed', { error });
        failure = String(error);
      },
    );
  }, everyMs);
  timer.unref();
  return { current: (): Uint8Array => key, stop: (): void => clearInterval(timer) };
}
