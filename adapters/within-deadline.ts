/**
 * Returns `work`, or rejects with the signal's reason as soon as it aborts. A pool of connections checks the signal of
 * a request only when its turn comes; behind a hanging host that may be long after the deadline.
 */
export function withinDeadline<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    const settled = (): void => signal.removeEventListener('abort', abort);
    work.then(resolve, reject).then(settled, settled);
  });
}
