import type { Timers } from '../../adapters/timers.js';

/** Runs `work` again and again, one at a time: `work` answers after how many milliseconds, and never rejects. */
export function createRepetition(timers: Timers, work: () => Promise<number>) {
  let isStopped = false;
  let cancel: (() => void) | undefined;
  let running: Promise<void> | undefined;
  let isRunning = false;
  /** Asked for since the last run began: after how many milliseconds the next one does. */
  let soonMs: number | undefined;

  function after(ms: number): void {
    if (isStopped) return;
    cancel = timers.after(ms, () => {
      soonMs = undefined;
      isRunning = true;
      running = work().then((nextMs) => {
        isRunning = false;
        after(soonMs ?? nextMs);
      });
    });
  }

  return {
    /** Begins `ms` milliseconds from now; a second call does nothing. */
    start(ms: number): void {
      if (cancel === undefined) after(ms);
    },
    /** Runs once more `ms` milliseconds from now, or that long after the present run; not before the start. */
    soon(ms: number): void {
      if (cancel === undefined || soonMs !== undefined) return;
      soonMs = ms;
      if (isRunning) return;
      cancel();
      after(ms);
    },
    isStopped: (): boolean => isStopped,
    /** Resolves when nothing runs; may be called twice. */
    async stop(): Promise<void> {
      isStopped = true;
      cancel?.();
      await running;
    },
  };
}
