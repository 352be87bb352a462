import { formatInstant, type EpochMs } from '../../../core/units/time.js';
import { invalidInput } from '../../../core/errors.js';
import { endOf, minutesKeptFrom, startOf, type Range } from '../../../core/ledger/steps.js';

const dayMs = 86_400_000;
const minuteMs = 60_000;

/**
 * The range of a query, widened to whole minutes. Without `to` it ends now, and without `from` it begins `defaultDays`
 * before its end; `to` may be in the future. Throws INVALID_INPUT for a range that is empty, reversed or too long.
 */
export function rangeOf(
  { from, to }: Partial<Range>,
  now: EpochMs,
  { defaultDays, maxDays }: { readonly defaultDays: number; readonly maxDays: number },
): Range {
  const last = to ?? now;
  const first = from ?? (Math.max(0, last - defaultDays * dayMs) as EpochMs);
  if (first >= last)
    throw invalidInput({
      field: 'from',
      expected: `before to (${formatInstant(last)})`,
      value: formatInstant(first),
    });
  if (last - first > maxDays * dayMs)
    throw invalidInput({
      field: 'to',
      expected: `at most ${maxDays} days after from (${formatInstant(first)})`,
      value: formatInstant(last),
    });
  return widened({ from: first, to: last }, 'minute');
}

/** Whether a range that {@link rangeOf} may have widened to whole minutes is not empty and not too long. */
export function isWithin({ from, to }: Range, maxDays: number): boolean {
  return from < to && to - from <= maxDays * dayMs + 2 * minuteMs;
}

/** Widened to whole hours where sums of minutes are no longer kept. */
export function withKeptSums(range: Range, now: EpochMs): Range {
  const kept = minutesKeptFrom(now);
  const { from, to } = widened(range, 'hour');
  return { from: range.from < kept ? from : range.from, to: range.to < kept ? to : range.to };
}

export function widened({ from, to }: Range, unit: 'minute' | 'hour' | 'day'): Range {
  return { from: startOf(from, unit), to: startOf(to, unit) === to ? to : endOf(to, unit) };
}
