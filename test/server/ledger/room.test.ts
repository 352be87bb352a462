import { expect, test } from '@jest/globals';
import type { LedgerSize } from '../../../core/ledger/ledger.js';
import type { LedgerRecord } from '../../../core/ledger/record.js';
import type { EpochMs } from '../../../core/units/time.js';
import { createLedgerRoom } from '../../../server/ledger/room.js';
import { at, aRefusal } from '../../conformance/ledger-records.js';

const noon = at('2026-11-22T12:00:00Z');
const hourMs = 3_600_000;
const capacity = 10_000_000_000;
/** Of each of them, as it is counted: see {@link of}. */
const recordBytes = 10_000;

test('before the first measurement there is room', () => {
  const world = aRoom();
  expect(world.offer('acme', 1_000)).toBe(1_000);
});

test('refusals end at the capacity, whatever other processes have written', async () => {
  const world = aRoom();
  await world.measure(capacity - 100);
  expect(world.offer('acme', 1)).toBe(0);
  expect(world.offer('other', 1)).toBe(0);
});

test('a flood ends within one measurement: what was offered since the last one counts', async () => {
  const world = aRoom();
  const free = 1_000_000;
  await world.measure(capacity - free);
  const organisations = [...Array(20).keys()].map((number) => `org-${number}`);
  const kept = organisations.map((organisation) => world.offer(organisation, 1_000));
  expect(kept.reduce((sum, count) => sum + count)).toBe(free / recordBytes);
  expect(kept[0]).toBe(free / 5 / recordBytes);
});

test('what is offered while the size is measured counts until the next measurement', async () => {
  const world = aRoom();
  const { promise, resolve } = Promise.withResolvers<LedgerSize>();
  await world.measure(capacity - 200_000);
  const measured = world.room.measured(promise);
  const kept = ['a', 'b', 'c'].map((organisation) => world.offer(organisation, 1_000));
  resolve({ used: capacity - 200_000, capacity });
  await measured;
  const rest = ['d', 'e', 'f', 'g'].map((organisation) => world.offer(organisation, 1_000));
  expect([kept, rest]).toEqual([
    [4, 4, 4],
    [4, 4, 0, 0],
  ]);
});

test('what waits in memory while the size is measured counts on, because the size does not show it', async () => {
  const world = aRoom();
  await world.measure(capacity - 20 * recordBytes);
  for (const organisation of ['a', 'b', 'c']) expect(world.offer(organisation, 1_000)).toBe(4);
  world.waiting = 10 * recordBytes;
  await world.measure(capacity - 18 * recordBytes);
  const kept = ['d', 'e', 'f'].map((organisation) => world.offer(organisation, 1_000));
  expect(kept).toEqual([4, 4, 0]);
});

test('an organisation gets a fifth of the room that is free in an hour; others keep theirs', async () => {
  const world = aRoom();
  await world.measure(0);
  const fifth = capacity / 5 / recordBytes;
  expect(world.offer('greedy', fifth + 1_000)).toBe(fifth);
  await world.measure(capacity / 5);
  expect(world.offer('greedy', 1)).toBe(0);
  expect(world.offer('honest', 1_000)).toBe(1_000);
});

test('the next hour has its own share, of the room that is free then', async () => {
  const world = aRoom();
  await world.measure(0);
  world.offer('greedy', capacity);
  await world.measure(capacity / 2);
  expect(world.offer('greedy', 1)).toBe(0);
  world.clock.now += hourMs;
  expect(world.offer('greedy', capacity)).toBe(capacity / 2 / 5 / recordBytes);
});

test('what was removed in the hour is free in it', async () => {
  const world = aRoom();
  await world.measure(capacity);
  expect(world.offer('acme', 1)).toBe(0);
  await world.measure(capacity / 2);
  expect(world.offer('acme', 1)).toBe(1);
});

test('three processes together give an organisation what one of them would', async () => {
  const worlds = [aRoom(3), aRoom(3), aRoom(3)];
  for (const world of worlds) await world.measure(capacity / 2);
  const kept = worlds.map((world) => world.offer('greedy', capacity));
  const fifth = capacity / 2 / 5 / recordBytes;
  const sum = kept.reduce((all, count) => all + count);
  expect(sum).toBeLessThanOrEqual(fifth);
  expect(sum).toBeGreaterThan(fifth - 3);
});

test('what the offers do not take is not counted', async () => {
  const world = aRoom();
  await world.measure(capacity - 5 * recordBytes);
  world.isTaking = false;
  expect(world.offer('acme', 1_000)).toBe(0);
  world.isTaking = true;
  expect(world.offer('acme', 1_000)).toBe(1);
});

function aRoom(processes = 1) {
  const clock = { now: noon as number };
  const room = createLedgerRoom({ clock: { now: () => clock.now as EpochMs }, processes });
  const world = { isTaking: true, waiting: 0, clock, room, measure, offer };
  const offers = room.within({
    add: (_record: LedgerRecord) => world.isTaking,
    waitingBytes: () => world.waiting,
  });

  async function measure(used: number): Promise<void> {
    await room.measured(Promise.resolve({ used, capacity }));
  }

  /** Offers so many records, until one is refused: how many were kept. */
  function offer(organisation: string, count: number): number {
    const record = aRefusal(organisation, noon, { detail: 'x'.repeat(recordBytes - 1_000) });
    let kept = 0;
    while (kept < count && offers.add(record)) kept += 1;
    return kept;
  }
  return world;
}
