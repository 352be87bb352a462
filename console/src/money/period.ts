import type { Choice } from '../parts/parts.js';

/** Whole days in UTC, as sums of accounts and statements have them. */
export type Period = {
  readonly from: string;
  /** Exclusive. */
  readonly to: string;
  /** `2026-11`, of a calendar month. */
  readonly month?: string;
  /** For people, e.g. `November 2026`. */
  readonly title: string;
};

const ownRange = 'own';
/** As long as the ledger keeps sums, unless it is told otherwise. */
const maxMonths = 14;
const dayMs = 86_400_000;
const monthName = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' });

/** This month, those before it, and a range of one's own. */
export function periodChoices(now: Date): readonly Choice[] {
  const months = Array.from({ length: maxMonths }, (_, back): Choice => {
    const month = formatMonth(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back)));
    const { title } = ofMonth(month);
    return [back === 0 ? '' : month, back === 0 ? `This month (${title})` : title];
  });
  return [...months, [ownRange, 'Own range']];
}

/** What the address says, and without it this month. */
export function readPeriod(query: Readonly<Record<string, string | undefined>>, now: Date): Period {
  const { period = '' } = query;
  if (period === ownRange) {
    const { from, to } = readDates(query, now);
    return { from: `${from}T00:00:00.000Z`, to: dayAfter(to), title: `${from} to ${to}` };
  }
  return ofMonth(/^\d{4}-(0[1-9]|1[0-2])$/.test(period) ? period : formatMonth(now));
}

export function isOwnRange({ period }: Readonly<Record<string, string | undefined>>): boolean {
  return period === ownRange;
}

/** First and last day of an own range; a day that is not there, or does not exist, is that of this month. */
export function readDates(
  { from = '', to = '' }: Readonly<Record<string, string | undefined>>,
  now: Date,
): { readonly from: string; readonly to: string } {
  const today = now.toISOString().slice(0, 10);
  return { from: isDay(from) ? from : `${today.slice(0, 8)}01`, to: isDay(to) ? to : today };
}

function ofMonth(month: string): Period {
  const [year = 0, number = 1] = month.split('-').map(Number);
  const begin = new Date(Date.UTC(year, number - 1));
  return {
    from: begin.toISOString(),
    to: new Date(Date.UTC(year, number)).toISOString(),
    month,
    title: monthName.format(begin),
  };
}

function formatMonth(at: Date): string {
  return at.toISOString().slice(0, 7);
}

function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
}

function dayAfter(day: string): string {
  return new Date(Date.parse(day) + dayMs).toISOString();
}
