import type { EpochMs } from '../units/time.js';
import { calendarWindowAt, type Calendar } from './calendar.js';
import { never, windowAt, type Window } from './window.js';

/** Windows of a length, those of a calendar, or, without either, one that never ends. */
export type LimitCycle = {
  /** When counting began. */
  readonly startMs: EpochMs;
  readonly durationMs?: number;
  readonly calendar?: Calendar;
};

/**
 * `name`: unique among the windows of the cycle. `keptUntil`: a window that ends early because of a planned restart goes on if the restart is
 * cancelled, so its counter is kept until then. Absent: the counter ends with the window.
 */
export type LimitWindow = Window & { readonly name: string; readonly keptUntil?: EpochMs };

/** The window that contains `now`. */
export function limitWindowAt({ startMs, durationMs, calendar }: LimitCycle, now: EpochMs): LimitWindow {
  if (durationMs !== undefined) {
    const { index, from, until } = windowAt({ startMs, durationMs }, now);
    return { name: `${startMs}/${index}`, from, until };
  }
  if (calendar === undefined) return { name: `${startMs}/all`, from: earlier(startMs, now), until: never };
  const { name, from, until } = calendarWindowAt(calendar, now);
  // Counting began within it: what was used before is not known to this counter.
  return { name: `${startMs}/${name}`, from: earlier(from > startMs ? from : startMs, now), until };
}

function earlier(a: EpochMs, b: EpochMs): EpochMs {
  return a < b ? a : b;
}
