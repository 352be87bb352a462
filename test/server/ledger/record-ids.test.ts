import { expect, test } from '@jest/globals';
import type { EpochMs } from '../../../core/units/time.js';
import { createRecordIds } from '../../../server/ledger/record-ids.js';

const start = 1_800_000_000_000;

test('ids are UUIDs of version 7 that rise strictly, also within a millisecond and when the clock is set back', () => {
  const times = [start, start, start + 1, start - 60_000, start + 2];
  let now = start;
  const ids = createRecordIds({ now: () => now as EpochMs });
  const made = times.flatMap((time) => {
    now = time;
    return Array.from({ length: 5_000 }, () => ids.next().id);
  });
  expect(made.toSorted()).toEqual(made);
  expect(new Set(made).size).toBe(made.length);
  for (const id of made)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const { id, at } = ids.next();
  expect(parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(at);
  expect(parseInt(made[0]!.replaceAll('-', '').slice(0, 12), 16)).toBe(start);
});

test('two processes make different ids at the same time', () => {
  const clock = { now: () => start as EpochMs };
  expect(createRecordIds(clock).next().id).not.toBe(createRecordIds(clock).next().id);
});
