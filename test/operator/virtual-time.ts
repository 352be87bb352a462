import type { Clock, EpochMs } from '../../core/units/time.js';
import type { Timers } from '../../adapters/timers.js';

/** Clock and timers that the test moves together. */
export type VirtualTime = {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Advances the time and fires the due timers in order, each at its own time. */
  advance(ms: number): void;
  /** Number of waiting timers. */
  pending(): number;
};

const virtualStart = Date.parse('2026-02-01T00:00:00.000Z');

export function createVirtualTime(start: number = virtualStart): VirtualTime {
  let now = start;
  let sequence = 0;
  const waiting = new Map<number, { readonly at: number; readonly action: () => void }>();

  function due(until: number): number | undefined {
    let first: number | undefined;
    for (const [id, { at }] of waiting) {
      if (at > until) continue;
      const best = first === undefined ? undefined : waiting.get(first);
      if (best === undefined || at < best.at) first = id;
    }
    return first;
  }

  return {
    clock: { now: () => now as EpochMs },
    timers: {
      after(ms, action) {
        const id = (sequence += 1);
        waiting.set(id, { at: now + ms, action });
        return () => void waiting.delete(id);
      },
    },
    advance(ms) {
      const until = now + ms;
      for (let id = due(until); id !== undefined; id = due(until)) {
        const timer = waiting.get(id);
        waiting.delete(id);
        if (timer === undefined) continue;
        now = Math.max(now, timer.at);
        timer.action();
      }
      now = until;
    },
    pending: () => waiting.size,
  };
}

/** Runs everything that is ready: promises, and one turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
