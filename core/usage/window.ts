import type { EpochMs } from '../units/time.js';

/** A period `[from, until)` in which a counter is the current one of its limit. */
export type Window = { readonly from: EpochMs; readonly until: EpochMs };

/** `until` of a window that never ends. */
export const never = Number.MAX_SAFE_INTEGER as EpochMs;

/** The window of a counter that never starts again from 0. */
export const always: Window = { from: 0 as EpochMs, until: never };

/** Windows of equal length, counted from a start time. */
type Cycle = { readonly startMs: EpochMs; readonly durationMs: number };

/** Index of the window that contains `now`; every time before the start belongs to window 0. */
export function windowIndexAt({ startMs, durationMs }: Cycle, now: EpochMs): number {
  return now <= startMs ? 0 : Math.floor((now - startMs) / durationMs);
}

/** The window of a cycle that contains `now`. */
export function windowAt(cycle: Cycle, now: EpochMs): Window & { readonly index: number } {
  const index = windowIndexAt(cycle, now);
  const from = cycle.startMs + index * cycle.durationMs;
  return {
    index,
    from: Math.min(from, now) as EpochMs,
    until: (from + cycle.durationMs) as EpochMs,
  };
}

export function contains({ from, until }: Window, now: EpochMs): boolean {
  return from <= now && now < until;
}
