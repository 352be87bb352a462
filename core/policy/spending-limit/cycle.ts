import type { EpochMs } from '../../units/time.js';

/** The cycle of a spending limit: windows of equal length, counted from its start. */
export type Cycle = { readonly startMs: EpochMs; readonly durationMs: number };

/** Index of the window that `now` falls into; everything before the start belongs to window 0. */
export function windowAt(cycle: Cycle, now: EpochMs): number {
  if (now <= cycle.startMs) return 0;
  return Math.floor((now - cycle.startMs) / cycle.durationMs);
}

/** First moment that no longer belongs to the window, i.e. when what is left of the limit is full again. */
export function windowEnd(cycle: Cycle, window: number): EpochMs {
  return (cycle.startMs + (window + 1) * cycle.durationMs) as EpochMs;
}
