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

/** Returns `work`, or rejects with `late()` when it takes longer than `ms`. */
export async function inTime<T>(ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(late()), ms).unref();
  try {
    return await withinDeadline(deadline.signal, work);
  } finally {
    clearTimeout(timer);
  }
}
