import type { EpochMs } from '../units/time.js';
import type { UsageStep } from './query.js';

/** Units of roll-ups, in milliseconds. All steps are UTC. */
export const rollupUnits = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;
export type RollupUnit = keyof typeof rollupUnits;

export function startOf(at: EpochMs, unit: RollupUnit | 'month'): EpochMs {
  if (unit !== 'month') return (at - (at % rollupUnits[unit])) as EpochMs;
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth()) as EpochMs;
}

/** The first moment after the step that contains `at`. */
export function endOf(at: EpochMs, unit: RollupUnit | 'month'): EpochMs {
  if (unit !== 'month') return (startOf(at, unit) + rollupUnits[unit]) as EpochMs;
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1) as EpochMs;
}

/** Sums of minutes are kept for two whole days and today (UTC); those of hours and days as long as decisions. */
export function minutesKeptFrom(now: EpochMs): EpochMs {
  return startOf((now - 2 * rollupUnits.day) as EpochMs, 'day');
}

/** The step of a row of usage that contains `at`, cut to the range. */
export function rowRange(at: EpochMs, step: UsageStep, range: Range): Range {
  return {
    from: Math.max(startOf(at, step), range.from) as EpochMs,
    to: Math.min(endOf(at, step), range.to) as EpochMs,
  };
}

/** Half-open. */
export type Range = { readonly from: EpochMs; readonly to: EpochMs };
type Span = Range & { readonly unit: RollupUnit };

/**
 * The fewest roll-ups that make up a range of whole minutes: days in its middle (not for rows of an hour), hours up to them, minutes at
 * its edges, or minutes alone for rows of a minute. The spans do not overlap; they are in the order of time, and none is empty.
 */
export function listSpans({ from, to }: Range, step: UsageStep): readonly Span[] {
  const hours = step === 'minute' ? undefined : within({ from, to }, 'hour');
  if (hours === undefined) return dropEmpty([{ unit: 'minute', from, to }]);
  const days = step === 'hour' ? undefined : within(hours, 'day');
  const middle: Span[] =
    days === undefined
      ? [{ unit: 'hour', ...hours }]
      : [
          { unit: 'hour', from: hours.from, to: days.from },
          { unit: 'day', ...days },
          { unit: 'hour', from: days.to, to: hours.to },
        ];
  return dropEmpty([
    { unit: 'minute', from, to: hours.from },
    ...middle,
    { unit: 'minute', from: hours.to, to },
  ]);
}

/** The whole units within a range. */
function within({ from, to }: Range, unit: RollupUnit): Range | undefined {
  const length = rollupUnits[unit];
  const first = (Math.ceil(from / length) * length) as EpochMs;
  const last = startOf(to, unit);
  return first < last ? { from: first, to: last } : undefined;
}

function dropEmpty(spans: readonly Span[]): readonly Span[] {
  return spans.filter(({ from, to }) => from < to);
}
