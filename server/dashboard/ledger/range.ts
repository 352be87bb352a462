import { createHash } from 'node:crypto';
import { invalidInput, quote } from '../../../core/errors.js';
import { isRecordId } from '../../../core/ledger/record-id.js';
import type { RecordId } from '../../../core/ledger/record.js';
import { endOf, minutesKeptFrom, startOf, type Range } from '../../../core/ledger/steps.js';
import { formatInstant, type EpochMs } from '../../../core/units/time.js';
import { decodeCursor, encodeCursor } from '../parameters.js';

const dayMs = 86_400_000;
const minuteMs = 60_000;

/**
 * The range of a query, widened to whole minutes. Without `to` it ends now, and without `from` it begins `defaultDays`
 * before its end; `to` may be in the future. Throws INVALID_INPUT for a range that is empty, reversed or too long.
 */
export function toRange(
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

/** Whether a range that {@link toRange} may have widened to whole minutes is not empty and not too long. */
export function isWithin({ from, to }: Range, maxDays: number): boolean {
  return from < to && to - from <= maxDays * dayMs + 2 * minuteMs;
}

/** Widened to whole hours where sums of minutes were removed. */
export function withKeptSums(range: Range, now: EpochMs): Range {
  const kept = minutesKeptFrom(now);
  const { from, to } = widened(range, 'hour');
  return { from: range.from < kept ? from : range.from, to: range.to < kept ? to : range.to };
}

export function widened({ from, to }: Range, unit: 'minute' | 'hour' | 'day'): Range {
  return { from: startOf(from, unit), to: startOf(to, unit) === to ? to : endOf(to, unit) };
}

/** Where a page ends, and the range of its query: without `to`, the range would grow from page to page. */
type Position = Range & { readonly before: RecordId };

/** A text for the next page of a query. It says nothing that its caller does not know. */
export function formatCursor({ from, to, before }: Position, query: object): string {
  return encodeCursor({ from, to, before, query: fingerprint(query) });
}

/**
 * Throws INVALID_INPUT for a text that is not a cursor, or is the cursor of another query. Anyone can write a cursor, so
 * its range is judged like that of a query without one.
 */
export function parseCursor(text: string, query: object, maxDays: number): Position {
  const { from, to, before, query: made } = decodeCursor(text);
  const isRange = isTime(from) && isTime(to) && isWithin({ from, to }, maxDays);
  if (!isRange || typeof before !== 'string' || !isRecordId(before))
    throw invalidInput({ field: 'cursor', expected: 'the cursor of an answer', value: quote(text) });
  if (made !== fingerprint(query))
    throw invalidInput({ field: 'cursor', expected: 'of the same query: repeat all its other parameters' });
  return { from, to, before };
}

const isTime = (value: unknown): value is EpochMs =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < 8.64e15;

function fingerprint(query: object): string {
  const members = Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(members)).digest('base64url').slice(0, 16);
}
