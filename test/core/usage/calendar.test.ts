import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { calendarUnits, calendarWindowAt, isTimeZone } from '../../../core/usage/calendar.js';
import { limitWindowAt } from '../../../core/usage/limit-window.js';
import { ratioOf } from '../../support/work.js';
import { never } from '../../../core/usage/window.js';
import type { EpochMs } from '../../../core/units/time.js';

const at = (text: string): EpochMs => Date.parse(text) as EpochMs;
const show = ({ name, from, until }: ReturnType<typeof calendarWindowAt>) => [
  name,
  new Date(from).toISOString().slice(0, 16),
  new Date(until).toISOString().slice(0, 16),
];
const berlin = 'Europe/Berlin';

describe('a window of a calendar', () => {
  test.each([
    {
      name: 'a day in summer',
      every: 'day',
      timeZone: berlin,
      now: '2026-07-01T21:59:59Z',
      want: ['2026-07-01', '2026-06-30T22:00', '2026-07-01T22:00'],
    },
    {
      name: 'the next day begins at local midnight',
      every: 'day',
      timeZone: berlin,
      now: '2026-07-01T22:00:00Z',
      want: ['2026-07-02', '2026-07-01T22:00', '2026-07-02T22:00'],
    },
    {
      name: 'the day that loses an hour',
      every: 'day',
      timeZone: berlin,
      now: '2026-03-29T12:00:00Z',
      want: ['2026-03-29', '2026-03-28T23:00', '2026-03-29T22:00'],
    },
    {
      name: 'the day that repeats an hour',
      every: 'day',
      timeZone: berlin,
      now: '2026-10-25T01:30:00Z',
      want: ['2026-10-25', '2026-10-24T22:00', '2026-10-25T23:00'],
    },
    {
      name: 'a day whose midnight is skipped',
      every: 'day',
      timeZone: 'Asia/Beirut',
      now: '2026-03-29T12:00:00Z',
      want: ['2026-03-29', '2026-03-28T22:00', '2026-03-29T21:00'],
    },
    {
      name: 'a week from Monday, over the change to winter',
      every: 'week',
      timeZone: berlin,
      now: '2026-10-25T12:00:00Z',
      want: ['2026-W43', '2026-10-18T22:00', '2026-10-25T23:00'],
    },
    {
      name: 'the week that belongs to the year before',
      every: 'week',
      timeZone: 'UTC',
      now: '2027-01-03T12:00:00Z',
      want: ['2026-W53', '2026-12-28T00:00', '2027-01-04T00:00'],
    },
    {
      name: 'the week that belongs to the year after',
      every: 'week',
      timeZone: 'UTC',
      now: '2025-12-29T00:00:00Z',
      want: ['2026-W01', '2025-12-29T00:00', '2026-01-05T00:00'],
    },
    {
      name: 'a month at the other side of the date line',
      every: 'month',
      timeZone: 'Pacific/Kiritimati',
      now: '2026-11-30T10:00:00Z',
      want: ['2026-12', '2026-11-30T10:00', '2026-12-31T10:00'],
    },
    {
      name: 'February of a leap year',
      every: 'month',
      timeZone: 'America/New_York',
      now: '2028-02-29T12:00:00Z',
      want: ['2028-02', '2028-02-01T05:00', '2028-03-01T05:00'],
    },
  ] as const)('$name', ({ every, timeZone, now, want }) => {
    expect(show(calendarWindowAt({ every, timeZone }, at(now)))).toEqual(want);
  });

  const zones = [
    'UTC',
    berlin,
    'America/New_York',
    'Asia/Kathmandu',
    'Pacific/Chatham',
    'Australia/Lord_Howe',
    'America/Havana',
    'Asia/Beirut',
  ];
  test('windows follow each other without a gap, and each contains its moments, in every zone', () => {
    const moment = fc.integer({ min: at('2024-01-01T00:00:00Z'), max: at('2034-01-01T00:00:00Z') });
    fc.assert(
      fc.property(
        moment,
        fc.constantFrom(...zones),
        fc.constantFrom(...calendarUnits),
        (now, timeZone, every) => {
          const calendar = { every, timeZone };
          const window = calendarWindowAt(calendar, now as EpochMs);
          expect(window.from).toBeLessThanOrEqual(now);
          expect(window.until).toBeGreaterThan(now);
          for (const within of [window.from, window.until - 1])
            expect(calendarWindowAt(calendar, within as EpochMs)).toEqual(window);
          const next = calendarWindowAt(calendar, window.until);
          expect(next.from).toBe(window.until);
          expect(next.name > window.name).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });

  test.each(['Mars/Olympus', '', 'Europe/berlin\n'])('%j is not a time zone', (text) => {
    expect(isTimeZone(text)).toBe(false);
  });
});

describe('a window of a limit', () => {
  const startMs = at('2026-11-10T12:00:00Z');
  const calendar = { every: 'month', timeZone: 'UTC' } as const;

  test('of a calendar begins with the count, when that began within it', () => {
    const first = limitWindowAt({ startMs, calendar }, at('2026-11-20T00:00:00Z'));
    expect(first).toMatchObject({
      from: startMs,
      until: at('2026-12-01T00:00:00Z'),
      name: `${startMs}/2026-11`,
    });
    const second = limitWindowAt({ startMs, calendar }, at('2026-12-20T00:00:00Z'));
    expect(second).toMatchObject({ from: at('2026-12-01T00:00:00Z'), name: `${startMs}/2026-12` });
  });

  test('without an end begins with the count, and contains every moment', () => {
    expect(limitWindowAt({ startMs }, at('2056-01-01T00:00:00Z'))).toEqual({
      name: `${startMs}/all`,
      from: startMs,
      until: never,
    });
    expect(limitWindowAt({ startMs }, (startMs - 5) as EpochMs).from).toBe(startMs - 5);
  });
});

test('four hundred limits of one calendar take less than the search for twenty windows', () => {
  const now = at('2026-07-01T12:00:00Z');
  const days = { every: 'day', timeZone: berlin } as const;
  let searched = 0;
  const search = () => calendarWindowAt(days, (now + (searched += 1) * 2 * 86_400_000) as EpochMs);
  const list = () => {
    for (let limit = 0; limit < 400; limit += 1) calendarWindowAt(days, now);
  };
  expect(ratioOf(list, search, 20)).toBeLessThan(20);
});
