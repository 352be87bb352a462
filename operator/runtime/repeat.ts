import type { Timers } from '../../adapters/timers.js';

/** Runs `work` again and again, one at a time: `work` answers after how many milliseconds, and never rejects. */
export function createRepetition(timers: Timers, work: () => Promise<number>) {
  let isStopped = false;
  let cancel: (() => void) | undefined;
  let running: Promise<void> | undefined;

  function after(ms: number): void {
    if (isStopped) return;
    cancel = timers.after(ms, () => {
      running = work().then(after);
    });
  }

  return {
    /** Begins `ms` milliseconds from now; a second call does nothing. */
    start(ms: number): void {
      if (cancel === undefined) after(ms);
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
