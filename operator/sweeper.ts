import type { Logger } from '../core/log.js';
import type { Keys } from './reconcilers/mapping.js';
import type { Timers } from '../adapters/timers.js';

/** How often the operator looks for compiled objects and grants whose source was deleted while no operator ran. */
const sweepMs = 10 * 60 * 1000;
/** After a failure: an API server that has just started answers 429 until it has read its definitions. */
const sweepAgainMs = 10_000;

/** Runs all sweeps at its start and then again and again; a sweep that fails does not stop the others. */
export function createSweeper(deps: {
  readonly sweeps: readonly (() => Promise<Keys>)[];
  /** Gets what a sweep has found. */
  readonly handle: (keys: Keys) => void;
  readonly timers: Timers;
  readonly log: Logger;
}): { start(): void; stop(): Promise<void> } {
  const { sweeps, handle, timers, log } = deps;
  let isStopped = false;
  let cancel: (() => void) | undefined;
  let running: Promise<void> = Promise.resolve();

  function again(ms: number): void {
    cancel = timers.after(ms, () => {
      running = once().then((isComplete) => {
        if (!isStopped) again(isComplete ? sweepMs : sweepAgainMs);
      });
    });
  }

  /** Returns whether nothing failed; never rejects. */
  async function once(): Promise<boolean> {
    let isComplete = true;
    for (const each of sweeps)
      await each().then(handle, (error: unknown) => {
        isComplete = false;
        log.warn('sweep failed', { error });
      });
    return isComplete;
  }

  return {
    start: () => again(0),
    stop: () => {
      isStopped = true;
      cancel?.();
      return running;
    },
  };
}
