import type { Logger } from '../../core/log.js';
import type { LoadedSigners } from './signers.js';

/** Mounted Secrets are swapped within about a minute. */
const defaultEveryMs = 60_000;

/** Picks up rotated key files without a restart; a directory that does not load keeps the keys of before. Returns the stop. */
export function keepFresh(
  signers: Pick<LoadedSigners, 'reload'>,
  log: Logger,
  everyMs: number = defaultEveryMs,
): () => void {
  const timer = setInterval(() => {
    signers
      .reload()
      .catch((error: unknown) =>
        log.error('signing keys could not be read again; those of before stay', { error }),
      );
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
