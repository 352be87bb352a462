import { afterEach, expect, test } from '@jest/globals';
import { DomainError } from '../../../core/errors.js';
import type { FeedEntry } from '../../../core/ledger/feed.js';
import {
  storedRecord,
  type EntryText,
  type LedgerEntry,
  type StoredRecords,
} from '../../../core/ledger/ledger.js';
import type { Gap } from '../../../core/ledger/record.js';
import { createLineReader, formatLines } from '../../../core/ledger/record-lines.js';
import { formatRecord } from '../../../core/ledger/record-text.js';
import { silentLogger } from '../../../core/log.js';
import type { EpochMs } from '../../../core/units/time.js';
import { createPump, pauseAfter, type Pump } from '../../../server/ledger/pump.js';

let pump: Pump | undefined;
afterEach(() => pump?.stop());

test('moves every record once, in its order, and acknowledges what is stored', async () => {
  const world = aWorld(['a', 'b', 'c'].map(aText));
  await world.moved(3);
  expect(world.stored()).toEqual(['a', 'b', 'c']);
  expect(world.waiting()).toEqual([]);
});

test('nothing leaves the feed while the ledger is down, and everything is stored once it is back', async () => {
  const world = aWorld(['a', 'b'].map(aText));
  world.ledgerFails = () => new DomainError('UNAVAILABLE', 'down');
  await world.failed(3);
  expect(world.waiting()).toHaveLength(2);
  expect(world.stored()).toEqual([]);
  world.ledgerFails = () => undefined;
  await world.moved(2);
  expect(world.stored()).toEqual(['a', 'b']);
  expect(world.waiting()).toEqual([]);
});

test('a record that was stored and not acknowledged is moved again', async () => {
  const world = aWorld(['a'].map(aText));
  world.acknowledgeFails = true;
  await world.failed(1);
  expect(world.waiting()).toHaveLength(1);
  world.acknowledgeFails = false;
  await world.until(() => world.waiting().length === 0);
  expect(new Set(world.stored())).toEqual(new Set(['a']));
});

test('records of a newer release and texts that are not records stay in the feed, and the others are stored', async () => {
  const newer = JSON.stringify({ v: 99, kind: 'gap', id: 'newer' });
  const world = aWorld([aText('a'), newer, '{"v":1,', 'null', aText('b')]);
  await world.moved(2);
  expect(world.stored()).toEqual(['a', 'b']);
  expect(world.waiting()).toEqual([newer, '{"v":1,', 'null']);
  expect(world.left()).toBe(3);
});

test('a ledger that reads texts itself gets them, and only what it has stored leaves the feed', async () => {
  const newer = JSON.stringify({ v: 99, kind: 'gap', id: 'newer' });
  const world = aWorld([aText('a'), newer, aText('b')], 'texts');
  await world.moved(2);
  expect(world.stored()).toEqual(['a', 'b']);
  expect(world.waiting()).toEqual([newer]);
  expect(world.left()).toBe(1);
  world.ledgerFails = () => new DomainError('UNAVAILABLE', 'down');
  world.add([aText('c')]);
  await world.failed(1);
  expect(world.waiting()).toEqual([newer, aText('c')]);
  world.ledgerFails = (ids) => (ids.includes('bad') ? new RangeError('no such month') : undefined);
  world.add(['bad', 'd'].map(aText));
  await world.moved(4);
  expect(world.stored()).toEqual(['a', 'b', 'c', 'd']);
  expect(world.waiting()).toEqual([newer, aText('bad')]);
});

test('a record that the ledger refuses for itself does not hold up the others', async () => {
  const world = aWorld(['a', 'b', 'bad', 'c', 'd'].map(aText));
  world.ledgerFails = (ids) => (ids.includes('bad') ? new RangeError('no such month') : undefined);
  await world.moved(4);
  expect(world.stored()).toEqual(['a', 'b', 'c', 'd']);
  expect(world.waiting()).toEqual([aText('bad')]);
});

test.each(['records', 'texts'] as const)(
  'of an entry with several records, those that are not at fault are stored, and the entry stays (%s)',
  async (takes) => {
    const newer = JSON.stringify({ v: 99, kind: 'gap', id: 'newer' });
    const linesOf = (...texts: readonly string[]) =>
      formatLines(texts.map((text) => ({ reservation: undefined, text })));
    const [whole, withNewer] = [linesOf(aText('a'), aText('b')), linesOf(aText('c'), newer, aText('d'))];
    const withBad = linesOf(aText('e'), aText('bad'), aText('f'));
    const world = aWorld([], takes);
    world.ledgerFails = (ids) => (ids.includes('bad') ? new RangeError('no such month') : undefined);
    world.add([whole, withNewer, withBad]);
    await world.until(() => new Set(world.stored()).size === 6 && world.waiting().length === 2);
    expect(new Set(world.stored())).toEqual(new Set(['a', 'b', 'c', 'd', 'e', 'f']));
    expect(world.waiting()).toEqual([withNewer, withBad]);
  },
);

test('a stop moves what waits already', async () => {
  const world = aWorld([]);
  await world.until(() => world.reads() > 0);
  world.add(Array.from({ length: 2_500 }, (_, index) => aText(`r${index}`)));
  await pump!.stop();
  expect(world.waiting()).toEqual([]);
  expect(world.stored()).toHaveLength(2_500);
});

test('a stop ends while the ledger is down, and leaves what waits', async () => {
  const world = aWorld(['a'].map(aText));
  world.ledgerFails = () => new DomainError('UNAVAILABLE', 'down');
  await world.failed(1);
  await pump!.stop();
  expect(world.waiting()).toHaveLength(1);
});

test('a feed that is not connected yet is an ordinary line, and one that breaks later is a warning', async () => {
  const world = aWorld([], 'records', true);
  await world.failed(2);
  expect(world.logged()).toEqual(['info: waiting for the feed of records']);
  world.readFails = false;
  world.add([aText('a')]);
  await world.moved(1);
  world.readFails = true;
  await world.failed(3);
  expect(world.logged().slice(1)).toEqual([
    'info: records are moved to the ledger again',
    'warn: records cannot be moved to the ledger, they wait',
  ]);
});

test('pauses after failures double up to ten first ones, shortened by up to a half', () => {
  expect([1, 2, 3, 4, 5, 6, 10_000].map((failures) => pauseAfter(failures, 0))).toEqual([
    1, 2, 4, 8, 10, 10, 10,
  ]);
  expect([1, 5].map((failures) => pauseAfter(failures, 0.5))).toEqual([0.75, 7.5]);
});

function aText(id: string): string {
  return formatRecord({
    kind: 'gap',
    id,
    at: 1 as EpochMs,
    organisation: 'acme',
    paymasterId: 'shop',
    chainId: 1,
    cause: 'rate',
    reason: undefined,
    count: 1,
  } satisfies Gap);
}

/**
 * A feed and a ledger in memory, and a pump between them that is running. What was read is not read again: in a real
 * feed it would be after a minute.
 */
function aWorld(texts: readonly string[], takes: 'records' | 'texts' = 'records', readFails = false) {
  let next = 0;
  let reads = 0;
  let failures = 0;
  let left = 0;
  let changed = Promise.withResolvers<void>();
  const entries: FeedEntry[] = [];
  const taken = new Set<string>();
  const stored: LedgerEntry[] = [];
  const reader = createLineReader();
  const logged: string[] = [];
  const notify = (): void => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  const add = (more: readonly string[]): void => {
    for (const text of more) entries.push({ chainId: 1, position: String((next += 1)), text });
    notify();
  };
  add(texts);
  const world = {
    ledgerFails: (_ids: readonly string[]): Error | undefined => undefined,
    acknowledgeFails: false,
    readFails,
    logged: () => logged,
    add,
    reads: () => reads,
    left: () => left,
    stored: () => stored.map(({ record }) => record.id),
    waiting: () => entries.map(({ text }) => text),
    until: async (isSo: () => boolean): Promise<void> => {
      while (!isSo()) await changed.promise;
    },
    moved: (count: number) => world.until(() => stored.length >= count && next - entries.length >= count),
    failed: (count: number) => world.until(() => failures >= count),
  };
  async function append(batch: readonly LedgerEntry[]): Promise<void> {
    const error = world.ledgerFails(batch.map(({ record }) => record.id));
    if (error !== undefined) throw error;
    stored.push(...batch);
    notify();
  }
  async function appendTexts(batch: readonly EntryText[]): Promise<readonly StoredRecords[]> {
    const read = batch.map((entry) => reader.read(entry));
    await append(read.flat().filter((one) => one !== undefined));
    return read.map((records) => records.map((one) => one && storedRecord(one.record)));
  }
  pump = createPump({
    feed: {
      async read(limit, waitMs) {
        reads += 1;
        notify();
        if (world.readFails) throw new DomainError('UNAVAILABLE', 'no connection');
        const free = entries.filter(({ position }) => !taken.has(position)).slice(0, limit);
        if (free.length === 0 && waitMs > 0)
          await Promise.race([changed.promise, new Promise((resolve) => setTimeout(resolve, 1))]);
        for (const { position } of free) taken.add(position);
        return free;
      },
      async acknowledge(done) {
        if (world.acknowledgeFails) {
          taken.clear();
          throw new DomainError('UNAVAILABLE', 'no connection');
        }
        for (const entry of done) entries.splice(entries.indexOf(entry), 1);
        notify();
      },
    },
    ledger: takes === 'records' ? { append } : { append, appendTexts },
    log: {
      ...silentLogger,
      info: (message) => void logged.push(`info: ${message}`),
      warn: (message) => void logged.push(`warn: ${message}`),
    },
    random: () => 0,
    meter: {
      stored: () => {},
      left: () => (left += 1),
      failed: () => {
        failures += 1;
        notify();
      },
    },
    firstPauseMs: 1,
  });
  pump.start();
  return world;
}
