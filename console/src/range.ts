import { call } from './api.js';
import type { Choice } from './parts/parts.js';
import type { Usage } from './records.js';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Ranges that end now: name, hours, step of a plot. */
const ranges = [
  ['15m', 'Last 15 minutes', 0.25, 'minute'],
  ['1h', 'Last hour', 1, 'minute'],
  ['24h', 'Last 24 hours', 24, 'hour'],
  ['7d', 'Last 7 days', 168, 'day'],
  ['30d', 'Last 30 days', 720, 'day'],
  ['1y', 'Last 12 months', 8_760, 'month'],
] as const;

export const rangeChoices: readonly Choice[] = ranges.map(([value, label]) => [value, label]);

/** `from` begins a whole step in UTC, so that the first bar of a plot is a whole one. */
export function findRange(name = '24h'): { readonly from: string; readonly step: string } {
  const [, , hours, step] = ranges.find(([value]) => value === name) ?? ranges[1];
  return { from: startOf(new Date(Date.now() - hours * hourMs), step).toISOString(), step };
}

/** Usage of a time, by what the query groups it by. */
export function readUsage(query: Readonly<Record<string, string>>): Promise<Usage> {
  return call<Usage>(`/manage/v1/usage?${new URLSearchParams(query)}`);
}

/** Begins of all steps of the range, also of those without a row. */
export function listSteps({ from, to, step }: Usage): readonly string[] {
  const at = startOf(new Date(from), step);
  const steps: string[] = [];
  while (at.toISOString() < to) {
    steps.push(at.toISOString());
    if (step === 'month') at.setUTCMonth(at.getUTCMonth() + 1);
    else at.setTime(at.getTime() + (step === 'minute' ? minuteMs : step === 'hour' ? hourMs : 24 * hourMs));
  }
  return steps;
}

/** Of today in UTC, as days of usage are. */
export function startOfDay(): string {
  return startOf(new Date(), 'day').toISOString();
}

export function startOfMonth(): string {
  return startOf(new Date(startOfDay()), 'month').toISOString();
}

function startOf(at: Date, step: string): Date {
  if (step === 'month') at.setUTCDate(1);
  if (step === 'minute') at.setUTCSeconds(0, 0);
  else if (step === 'hour') at.setUTCMinutes(0, 0, 0);
  else at.setUTCHours(0, 0, 0, 0);
  return at;
}
