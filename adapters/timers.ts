/** The only source of delays, besides the clock that gives the time: tests pass both from one virtual time. */
export type Timers = {
  /** Runs `action` once after `ms` milliseconds; the returned function cancels it and may be called at any time. */
  after(ms: number, action: () => void): () => void;
};

export const systemTimers: Timers = {
  after(ms, action) {
    // setTimeout fires at once for more than 2^31 - 1 ms; waking early is harmless to level-triggered work.
    const timer = setTimeout(action, Math.min(ms, 2_147_483_647));
    return () => clearTimeout(timer);
  },
};

/** Lets others be served: what is known already answers in the same turn. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Resolves after `ms`, or at once when the signal aborts; never rejects. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}
