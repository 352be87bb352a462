/** One Ctrl-C may arrive more than once: the terminal sends it to every process, and make or npm pass it on. */
const samePressMs = 500;

/**
 * Aborted by the first SIGTERM or SIGINT of this process, which is reported to `onStop`. A second Ctrl-C by a person
 * ends the process at once with code 130. Any other signal after the first does nothing: the drain goes on.
 */
export function createStopSignal(onStop: (signal: NodeJS.Signals) => void = () => {}): AbortSignal {
  const stopping = new AbortController();
  let since = 0;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stopping.signal.aborted) {
      if (signal === 'SIGINT' && performance.now() - since > samePressMs) process.exit(130);
      return;
    }
    since = performance.now();
    onStop(signal);
    stopping.abort();
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  return stopping.signal;
}

/** Resolves once the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}
