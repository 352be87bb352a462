import type { EpochMs } from '../units/time.js';
import { contains, type Window } from './window.js';

/** `timeZone`: an IANA name, e.g. Europe/Berlin. */
export type Calendar = { readonly every: CalendarUnit; readonly timeZone: string };
export const calendarUnits = ['day', 'week', 'month'] as const;
type CalendarUnit = (typeof calendarUnits)[number];

/** `name`: the local date with which it began, as 2026-11-26, 2026-W48 (ISO week) or 2026-11. */
type CalendarWindow = Window & { readonly name: string };

const dayMs = 86_400_000;
/** Local time differs from UTC by less than this, and a search that begins and ends so far away has both sides. */
const farthestMs = 2 * dayMs;

export function isTimeZone(text: string): boolean {
  try {
    createFormatter(text);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** The last window of each unit and zone: hundreds of limits ask for the same one, and each would take a millisecond to find. */
const found = new Map<string, CalendarWindow>();
/** Zones have more than one spelling. */
const maxFound = 2_000;

/** The period that contains `now` by the clocks of the time zone. Throws RangeError for an unknown zone. */
export function calendarWindowAt(calendar: Calendar, now: EpochMs): CalendarWindow {
  const key = `${calendar.every} ${calendar.timeZone}`;
  const last = found.get(key);
  if (last !== undefined && contains(last, now)) return last;
  const window = findWindow(calendar, now);
  if (found.size >= maxFound) found.clear();
  found.set(key, window);
  return window;
}

function findWindow({ every, timeZone }: Calendar, now: EpochMs): CalendarWindow {
  const formatter = createFormatter(timeZone);
  const first = findFirstDay(every, toLocalDay(formatter, now));
  return {
    name: formatPeriod(every, first),
    from: findBegin(formatter, first),
    until: findBegin(formatter, findNextDay(every, first)),
  };
}

function createFormatter(timeZone: string): Intl.DateTimeFormat {
  const date = { year: 'numeric', month: 'numeric', day: 'numeric' } as const;
  return new Intl.DateTimeFormat('en-US', {
    ...date,
    timeZone,
    calendar: 'iso8601',
    numberingSystem: 'latn',
  });
}

/** A local date as the UTC midnight with the same figures. */
function toLocalDay(formatter: Intl.DateTimeFormat, at: number): number {
  const parts = new Map(formatter.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  return Date.UTC(parts.get('year')!, parts.get('month')! - 1, parts.get('day'));
}

/** The first moment of a local date: not always midnight, since summer time may skip it. Found by halving, because zones give no inverse. */
function findBegin(formatter: Intl.DateTimeFormat, day: number): EpochMs {
  let before = day - farthestMs;
  let after = day + farthestMs;
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (toLocalDay(formatter, middle) >= day) after = middle;
    else before = middle;
  }
  return after as EpochMs;
}

function findFirstDay(every: CalendarUnit, day: number): number {
  const date = new Date(day);
  if (every === 'month') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
  return every === 'week' ? day - ((date.getUTCDay() + 6) % 7) * dayMs : day;
}

function findNextDay(every: CalendarUnit, first: number): number {
  const date = new Date(first);
  if (every === 'month') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
  return first + (every === 'week' ? 7 : 1) * dayMs;
}

function formatPeriod(every: CalendarUnit, first: number): string {
  const text = new Date(first).toISOString();
  if (every === 'day') return text.slice(0, 10);
  if (every === 'month') return text.slice(0, 7);
  // The week belongs to the year of its Thursday.
  const thursday = new Date(first + 3 * dayMs);
  const year = thursday.getUTCFullYear();
  const week = Math.floor((thursday.getTime() - Date.UTC(year, 0, 1)) / dayMs / 7) + 1;
  return `${year}-W${String(week).padStart(2, '0')}`;
}
