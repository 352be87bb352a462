import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { FeedEntry, LedgerFeed } from '../../core/ledger/feed.js';
import { wholeText } from '../../core/ledger/packed-decision.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import { recordsIn } from './feed-records.js';
import { aRequest, chainId } from './usage-requests.js';

/** Driver of an implementation: a new feed, and the usage store that adds to it. Its room is 40,000 bytes. */
export type FeedHarness = {
  readonly store: UsageStore;
  readonly feed: LedgerFeed;
  /** Another consumer of the same entries; may be the same object where one process has the feed. */
  another(): Promise<LedgerFeed>;
  /** The consumer's process is killed; answers the feed of the next one. What it had read can be read again at once. */
  killed(): Promise<LedgerFeed>;
  /** As if the time had passed after which entries are read again that were not acknowledged. */
  claimable(): Promise<void>;
  stop(): Promise<void>;
};

/** Guarantees of every feed; see the port. */
export function ledgerFeedConformance(implementation: string, create: () => Promise<FeedHarness>): void {
  describe(`feed of the ledger on ${implementation}`, () => {
    let it: FeedHarness;
    let last = 0;
    beforeEach(async () => {
      it = await create();
      last = 0;
    });
    afterEach(() => it.stop());

    const idOf = (n: number) => `id-${String(n).padStart(4, '0')}`;
    const reserve = (n: number, size: number) => {
      const record = { id: idOf(n), text: JSON.stringify({ n, filler: 'ü€😀"'.padEnd(size, 'x') }) };
      return it.store.reserve(aRequest({ key: { nonce: BigInt(n) }, record }));
    };
    /** Reserves so many new operations one after another, each with a record. */
    const add = async (count: number, size = 0) => {
      for (const n of range(last + 1, last + count)) await reserve(n, size);
      last += count;
    };
    const numbers = (entries: readonly FeedEntry[]) =>
      entries.flatMap(recordsIn).map(({ text }) => (JSON.parse(text) as { n: number }).n);
    const reservations = (entries: readonly FeedEntry[]) =>
      entries.flatMap(recordsIn).map(({ reservation }) => reservation);
    const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

    test('an empty feed answers nothing', async () => {
      expect(await it.feed.read(10, 0)).toEqual([]);
      expect(await it.feed.state()).toEqual({ length: 0, bytes: 0, lagMs: 0, fullness: 0 });
    });

    test('entries come in their order, not more than asked for, with the id of their reservation', async () => {
      await add(5);
      const first = await it.feed.read(3, 0);
      const rest = await it.feed.read(10, 0);
      expect(numbers([...first, ...rest])).toEqual(range(1, 5));
      expect(first).toHaveLength(3);
      expect(reservations([...first, ...rest])).toEqual(range(1, 5).map(idOf));
      expect(new Set([...first, ...rest].map(({ position }) => position)).size).toBe(5);
      expect(await it.feed.read(10, 0)).toEqual([]);
    });

    test('a read that waits gets what is added meanwhile', async () => {
      const waiting = it.feed.read(10, 60_000);
      await add(1);
      expect(numbers(await waiting)).toEqual([1]);
    });

    test('a read waits no longer than it was told, and waits again the next time', async () => {
      expect(await it.feed.read(10, 1)).toEqual([]);
      const waiting = it.feed.read(10, 60_000);
      await add(1);
      expect(numbers(await waiting)).toEqual([1]);
    });

    test('stopping ends a read that waits', async () => {
      const waiting = it.feed.read(10, 600_000);
      await it.feed.stop();
      expect(await waiting).toEqual([]);
    });

    test('acknowledged records do not come back to any reader; the rest does', async () => {
      await add(6);
      const read = await it.feed.read(4, 0);
      await it.feed.acknowledge([read[0]!, read[2]!]);
      const next = await it.killed();
      expect(numbers(await readAll(next))).toEqual([2, 4, 5, 6]);
    });

    test('what a killed process had read is read by the next one, in order, and only until it is acknowledged', async () => {
      await add(5);
      await it.feed.read(3, 0);
      const next = await it.killed();
      const again = await readAll(next);
      expect(numbers(again)).toEqual(range(1, 5));
      await next.acknowledge(again);
      expect(await readAll(await it.killed())).toEqual([]);
    });

    test('what was read and not acknowledged is read again after a time, before what is newer', async () => {
      await add(3);
      const lost = await it.feed.read(2, 0);
      const other = await it.another();
      await it.claimable();
      expect(numbers(await other.read(10, 0))).toEqual([1, 2, 3]);
      // The first consumer was only slow.
      await it.feed.acknowledge(lost);
      await it.claimable();
      expect(numbers(await readAll(other))).toEqual([3]);
    });

    test('two consumers share the entries', async () => {
      const other = await it.another();
      await add(20);
      const found: FeedEntry[] = [];
      for (const feed of [it.feed, other, it.feed, other]) found.push(...(await feed.read(5, 0)));
      expect(numbers(found)).toEqual(range(1, 20));
    });

    test('acknowledging twice, or what is not there, removes nothing else', async () => {
      await add(4);
      const [first, ...others] = await it.feed.read(2, 0);
      await it.feed.acknowledge([first!]);
      await it.feed.acknowledge([first!]);
      await it.feed.acknowledge([
        { ...first!, position: '99999-0' },
        { ...first!, chainId: 77 },
      ]);
      await it.feed.acknowledge([]);
      expect(numbers(await readAll(await it.killed()))).toEqual([2, 3, 4]);
      expect(others).toHaveLength(1);
    });

    test('what is offered belongs to no reservation, and is in order with the rest', async () => {
      await add(1);
      await it.feed.offer(chainId, ['{"n":2}', '{"n":3}']);
      last = 3;
      await add(1);
      const entries = await it.feed.read(10, 0);
      expect(numbers(entries)).toEqual([1, 2, 3, 4]);
      expect(reservations(entries)).toEqual([idOf(1), undefined, undefined, idOf(4)]);
    });

    test('records that are added at once may share entries, and each of them arrives until its entry is acknowledged', async () => {
      await Promise.all(range(1, 40).map((n) => reserve(n, 0)));
      const { length } = await it.feed.state();
      const [first, ...others] = await it.feed.read(1_000, 0);
      expect(length).toBe(1 + others.length);
      expect(numbers([first!, ...others])).toEqual(range(1, 40));
      expect(reservations([first!, ...others])).toEqual(range(1, 40).map(idOf));
      await it.feed.acknowledge([first!]);
      const next = await it.killed();
      expect(numbers(await readAll(next))).toEqual(range(1 + numbers([first!]).length, 40));
    });

    test('what records have in common arrives with each of them', async () => {
      const one = { id: idOf(1), context: '["a"]', text: '["id-1"]' };
      const two = { id: idOf(2), context: '["b"]', text: '["id-2"]' };
      const three = { id: idOf(3), context: '["a"]', text: '["id-3"]' };
      await Promise.all(
        [one, two, three].map((record, n) =>
          it.store.reserve(aRequest({ key: { nonce: BigInt(n) }, record })),
        ),
      );
      const entries = await it.feed.read(10, 0);
      expect(entries.flatMap(recordsIn).map(wholeText)).toEqual([one, two, three].map(wholeText));
    });

    test('an offer beyond half of the room is refused as a whole; records of signatures are still added', async () => {
      await add(3, 6_000);
      await expect(it.feed.offer(chainId, ['{"n":0}', 'x'.repeat(4_000)])).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        details: { reason: 'LEDGER_FULL' },
      });
      // Texts that may use less of the room are refused earlier.
      await expect(it.feed.offer(chainId, ['{"n":0}'], 0.25)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
      await add(1);
      const entries = await it.feed.read(10, 0);
      expect(numbers(entries)).toEqual([1, 2, 3, 4]);
      await it.feed.acknowledge(entries);
      await it.feed.offer(chainId, ['{"n":5}']);
      expect(numbers(await it.feed.read(10, 0))).toEqual([5]);
    });

    test('the state counts what waits, read or not, and is empty again when all is acknowledged', async () => {
      await add(4, 1_000);
      await it.feed.read(2, 0);
      const { length, bytes, lagMs, fullness } = await it.feed.state();
      expect(length).toBe(4);
      expect(bytes).toBeGreaterThan(4_000);
      expect(bytes).toBeLessThan(5_000);
      expect(lagMs).toBeGreaterThanOrEqual(0);
      expect(fullness).toBeCloseTo(bytes / 40_000, 5);
      const next = await it.killed();
      const read = await readAll(next);
      await next.acknowledge(read.slice(0, 3));
      expect(await next.state()).toMatchObject({ length: 1 });
      await next.acknowledge(read);
      expect(await next.state()).toEqual({ length: 0, bytes: 0, lagMs: 0, fullness: 0 });
    });

    test('with kills at any moment every entry arrives, and none after it was acknowledged', async () => {
      let feed = it.feed;
      const acknowledged = new Set<number>();
      const seen = new Set<number>();
      for (let round = 0; round < 12; round++) {
        await add(7);
        const entries = await feed.read(1 + (round % 9), 0);
        for (const n of numbers(entries)) {
          expect(acknowledged.has(n)).toBe(false);
          seen.add(n);
        }
        const stored = entries.slice(0, entries.length - (round % 3));
        await feed.acknowledge(stored);
        for (const n of numbers(stored)) acknowledged.add(n);
        if (round % 2 === 1) feed = await it.killed();
      }
      for (const n of numbers(await readAll(await it.killed()))) {
        expect(acknowledged.has(n)).toBe(false);
        seen.add(n);
      }
      expect([...seen].toSorted((a, b) => a - b)).toEqual(range(1, last));
    });
  });
}

async function readAll(feed: LedgerFeed): Promise<readonly FeedEntry[]> {
  const found: FeedEntry[] = [];
  for (;;) {
    const entries = await feed.read(100, 0);
    if (entries.length === 0) return found;
    found.push(...entries);
  }
}
