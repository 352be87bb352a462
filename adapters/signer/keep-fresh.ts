import type { Logger } from '../../core/log.js';
import type { LoadedSigners } from './signers.js';

/** Mounted Secrets are swapped within about a minute. */
const defaultEveryMs = 60_000;

/**
 * Loads rotated keys without a restart. If the directory cannot be read, the former signers stay. Returns a function
 * that stops it.
 */
export function keepFresh(
  signers: Pick<LoadedSigners, 'reload'>,
  log: Logger,
  everyMs: number = defaultEveryMs,
): () => void {
  const timer = setInterval(() => {
    signers
      .reload()
      .catch((error: unknown) =>
        log.error('signing keys could not be read again, keeping the former ones', { error }),
      );
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
