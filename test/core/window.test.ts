import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { contains, windowAt, windowIndexAt } from '../../core/usage/window.js';
import type { EpochMs } from '../../core/units/time.js';

const cycle = (startMs: number, durationMs: number) => ({ startMs: startMs as EpochMs, durationMs });
const at = (ms: number) => ms as EpochMs;
const hourMs = 3_600_000;

test.each([
  {
    name: 'a moment before the start belongs to the first window',
    now: 500,
    index: 0,
    from: 500,
    until: 2_000,
  },
  { name: 'the start begins the first window', now: 1_000, index: 0, from: 1_000, until: 2_000 },
  {
    name: 'the last moment of a window still belongs to it',
    now: 1_999,
    index: 0,
    from: 1_000,
    until: 2_000,
  },
  { name: 'the end of a window begins the next one', now: 2_000, index: 1, from: 2_000, until: 3_000 },
])('$name', ({ now, index, from, until }) => {
  expect(windowAt(cycle(1_000, 1_000), at(now))).toEqual({ index, from, until });
});

test('every moment is in its own window, and windows follow each other without a gap', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 2_000_000_000_000 }),
      fc.integer({ min: 1, max: 8_760 }),
      fc.integer({ min: 0, max: 2_000_000_000_000 }),
      (startMs, hours, now) => {
        const terms = cycle(startMs, hours * hourMs);
        const window = windowAt(terms, at(now));
        expect(contains(window, at(now))).toBe(true);
        expect(window.index).toBe(windowIndexAt(terms, at(now)));
        const next = windowAt(terms, window.until);
        expect(next).toEqual({
          index: window.index + 1,
          from: window.until,
          until: window.until + terms.durationMs,
        });
      },
    ),
  );
});
