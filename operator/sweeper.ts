import type { Logger } from '../core/log.js';
import type { Keys } from './reconcilers/mapping.js';
import { createRepetition } from './runtime/repeat.js';
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
}) {
  const { sweeps, handle, timers, log } = deps;
  const repetition = createRepetition(timers, async () => {
    let nextMs = sweepMs;
    for (const each of sweeps)
      await each().then(handle, (error: unknown) => {
        nextMs = sweepAgainMs;
        log.warn('sweep failed', { error });
      });
    return nextMs;
  });
  return { start: () => repetition.start(0), stop: () => repetition.stop() };
}
