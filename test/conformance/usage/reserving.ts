import { describe, expect, test } from '@jest/globals';
import type { EpochMs } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import { always } from '../../../core/usage/window.js';
import {
  aBar,
  aHold,
  aKey,
  aLimit,
  anAddress,
  aNeed,
  anHour,
  aRequest,
  aSpend,
  chainId,
  hourMs,
} from '../usage-requests.js';
import { reserved, type Suite } from './suite.js';

/** Limits, windows, bars, and in which order they decide. */
export function reservingConformance(it: Suite): void {
  describe('limits', () => {
    test('as many operations pass as the threshold says, and the next is refused', async () => {
      const one = (nonce: bigint) => aRequest({ key: { nonce }, limits: [aLimit({ threshold: 3 })] });
      expect(await it.passed(3, one)).toBe(3);
      expect(await it.store.reserve(one(9n))).toEqual({ outcome: 'limit', index: 0, used: 3 });
    });

    test('an amount may reach the threshold exactly and not exceed it by one unit', async () => {
      const spend = (nonce: bigint, cost: number) => aRequest({ key: { nonce }, limits: [aSpend(cost)] });
      expect(await it.store.reserve(spend(1n, 60))).toEqual(reserved);
      expect(await it.store.reserve(spend(2n, 41))).toMatchObject({ outcome: 'limit', used: 60 });
      expect(await it.store.reserve(spend(3n, 40))).toEqual(reserved);
      expect(await it.store.reserve(spend(4n, 1))).toMatchObject({ outcome: 'limit', used: 100 });
    });

    test('amounts near 2^53 are exact', async () => {
      const threshold = Number.MAX_SAFE_INTEGER;
      const spend = (nonce: bigint, cost: number) =>
        aRequest({ key: { nonce }, limits: [aSpend(cost, { threshold })] });
      expect(await it.store.reserve(spend(1n, threshold - 1))).toEqual(reserved);
      expect(await it.store.reserve(spend(2n, 2))).toMatchObject({ outcome: 'limit', used: threshold - 1 });
      expect(await it.store.reserve(spend(3n, 1))).toEqual(reserved);
      expect(await it.stands(aSpend(1))).toEqual([[0, threshold]]);
    });

    test('what a mined operation has spent stays spent', async () => {
      const spend = (nonce: bigint, cost: number) => aRequest({ key: { nonce }, limits: [aSpend(cost)] });
      await it.store.reserve(spend(1n, 60));
      await it.advance({ settled: [{ key: aKey({ nonce: 1n }), actualCost: gwei(50) }] });
      expect(await it.store.reserve(spend(2n, 51))).toMatchObject({ outcome: 'limit', used: 50 });
      expect(await it.store.reserve(spend(3n, 50))).toEqual(reserved);
    });

    test('another threshold of a counter holds at once, with what is used and what is promised', async () => {
      const ask = (nonce: bigint, threshold: number) =>
        it.store.reserve(aRequest({ key: { nonce }, limits: [aLimit({ threshold })] }));
      for (const nonce of [1n, 2n, 3n, 4n]) expect(await ask(nonce, 4)).toEqual(reserved);
      await it.advance({ settled: [{ key: aKey({ nonce: 1n }), actualCost: gwei(1) }] });
      expect(await ask(5n, 4)).toMatchObject({ outcome: 'limit', used: 4 });
      expect(await ask(5n, 5)).toEqual(reserved);
      // Below what is used, nothing passes, also not what was promised already.
      expect(await ask(6n, 3)).toMatchObject({ outcome: 'limit', used: 5 });
      expect(await ask(2n, 3)).toMatchObject({ outcome: 'limit', used: 4 });
      expect(await ask(6n, 5)).toMatchObject({ outcome: 'limit', used: 5 });
      expect(await it.stands(aLimit())).toEqual([[1, 4]]);
    });

    test('a request that one limit refuses takes nothing from the others', async () => {
      const wide = aLimit({ counter: 'wide', threshold: 5 });
      const full = aLimit({ counter: 'full', threshold: 0 });
      expect(await it.store.reserve(aRequest({ limits: [wide, full], holds: [aHold(1)] }))).toMatchObject({
        outcome: 'limit',
        index: 1,
      });
      expect(await it.stands(wide, full, aHold(1))).toEqual([
        [0, 0],
        [0, 0],
        [0, 0],
      ]);
      expect(await it.store.reservations(chainId)).toEqual([]);
    });

    test('a counter is known by its name and its unit, on its chain', async () => {
      const limit = aLimit({ counter: 'same', threshold: 1 });
      expect(await it.store.reserve(aRequest({ limits: [limit] }))).toEqual(reserved);
      for (const other of [{ unit: 'NATIVE_ASSET' as const }, { counter: 'other' }])
        expect(
          (await it.store.peek(aRequest({ key: { nonce: 1n }, limits: [aLimit({ ...limit, ...other })] })))
            .limits,
        ).toEqual([{ used: 0, reserved: 0 }]);
      expect(await it.store.reserve(aRequest({ key: { chainId: 1 }, limits: [limit] }))).toEqual(reserved);
      expect(await it.stands(limit)).toEqual([[0, 1]]);
      expect(await it.store.counters(1, [limit])).toEqual([{ used: 0, reserved: 1 }]);
    });

    test('names of counters may hold any text without control characters', async () => {
      const names = [
        '',
        ' ',
        'a/b',
        'a:b',
        '{x}',
        '"',
        "'",
        '\\',
        '%',
        'ä\u{1f600}',
        'a,b',
        'NATIVE_ASSET',
        '__proto__',
      ];
      for (const [i, counter] of names.entries()) {
        const limits = [aLimit({ counter, threshold: i + 1, cost: i + 1 })];
        expect(await it.store.reserve(aRequest({ key: { nonce: BigInt(i) }, limits }))).toEqual(reserved);
      }
      await it.replaced('reopen');
      expect(await it.stands(...names.map((counter) => aLimit({ counter })))).toEqual(
        names.map((_, i) => [0, i + 1]),
      );
    });

    test('counters are answered in the order of the names; one that was never written is 0 and 0', async () => {
      await it.store.reserve(aRequest({ limits: [aSpend(7), aLimit()] }));
      expect(await it.stands(aLimit(), aLimit({ counter: 'never' }), aSpend(0))).toEqual([
        [0, 1],
        [0, 0],
        [0, 7],
      ]);
    });

    test('concurrent requests pass as often as the threshold says, however they are spread over turns', async () => {
      const answers = await Promise.all(
        Array.from({ length: 200 }, async (_, i) => {
          if (i % 3 === 0) await new Promise(setImmediate);
          return it.store.reserve(
            aRequest({
              key: { nonce: BigInt(i) },
              limits: [aLimit({ threshold: 37 }), aLimit({ counter: 'wide', threshold: 90 })],
            }),
          );
        }),
      );
      expect(answers.filter(({ outcome }) => outcome === 'reserved')).toHaveLength(37);
      expect(await it.store.reservations(chainId)).toHaveLength(37);
      expect(await it.stands(aLimit(), aLimit({ counter: 'wide' }))).toEqual([
        [0, 37],
        [0, 37],
      ]);
    });

    test('a limit without `enforce` counts, never refuses, and says when it is over', async () => {
      const shadow = (nonce: bigint, cost: number) =>
        aRequest({ key: { nonce }, limits: [aLimit(), aSpend(cost, { enforce: false })] });
      expect(await it.store.reserve(shadow(1n, 100))).toEqual(reserved);
      expect(await it.store.reserve(shadow(2n, 1))).toEqual({ ...reserved, over: [1] });
      expect(await it.stands(aSpend(0))).toEqual([[0, 101]]);
      // A repeated request is decided by the current state of the reservation.
      expect(await it.store.reserve(shadow(2n, 1))).toEqual({ ...reserved, over: [1] });
    });
  });

  describe('windows', () => {
    test.each<{ name: string; after: number; want: 'reserved' | 'turned' }>([
      { name: 'one millisecond before it begins', after: -1, want: 'turned' },
      { name: 'when it begins', after: 0, want: 'reserved' },
      { name: 'one millisecond before it ends', after: hourMs - 1, want: 'reserved' },
      { name: 'when it ends', after: hourMs, want: 'turned' },
    ])('a window counts from its beginning until before its end: $name', async ({ after, want }) => {
      // Bars have windows as limits do.
      for (const of of ['limits', 'bars'] as const) {
        const from = (it.clock.now() - after) as EpochMs;
        const window = { from, until: (from + hourMs) as EpochMs };
        const request = aRequest(
          of === 'bars' ? { bars: [aBar({ window })] } : { limits: [aLimit({ window })] },
        );
        const answer = want === 'reserved' ? reserved : { outcome: 'turned', now: it.clock.now() };
        expect((await it.store.peek(request)).result).toEqual(answer);
        expect(await it.store.reserve(request)).toEqual(answer);
      }
    });

    test('a request whose window has turned reserves nothing, also of the limits whose windows have not', async () => {
      it.clock.advance(hourMs);
      const request = aRequest({ limits: [aLimit({ counter: 'long', window: always }), aLimit()] });
      expect(await it.store.reserve(request)).toEqual({ outcome: 'turned', now: it.clock.now() });
      expect(await it.stands(aLimit({ counter: 'long' }), aLimit())).toEqual([
        [0, 0],
        [0, 0],
      ]);
      expect(await it.store.reservations(chainId)).toEqual([]);
    });

    test('the store tells its time', () => {
      expect(it.store.now()).toBe(it.clock.now());
    });

    test('a counter that never ends is still there after a hundred years', async () => {
      const limits = [aLimit({ window: always, threshold: 1 })];
      await it.store.reserve(aRequest({ limits }));
      await it.advance({ settled: [{ key: aKey(), actualCost: gwei(1) }] });
      it.clock.advance(100 * 8766 * hourMs);
      expect(await it.store.reserve(aRequest({ key: { nonce: 1n }, limits }))).toMatchObject({
        outcome: 'limit',
      });
    });
  });

  describe('bars', () => {
    test('refuse while the settled use is above their bound, and take nothing', async () => {
      const charge = (amount: number) =>
        it.advance({ charges: [{ ...aBar(), until: always.until, amount }] });
      const one = (nonce: bigint) => aRequest({ key: { nonce }, bars: [aBar({ counter: 'other' }), aBar()] });
      expect(await it.passed(5, one)).toBe(5);
      await charge(10);
      expect(await it.store.reserve(one(5n))).toEqual(reserved);
      await charge(1);
      expect(await it.store.reserve(one(6n))).toEqual({ outcome: 'barred', index: 1, used: 11 });
      expect((await it.store.peek(one(6n))).result).toEqual({ outcome: 'barred', index: 1, used: 11 });
      expect(await it.stands(aBar())).toEqual([[11, 0]]);
    });

    test('do not look at what is reserved', async () => {
      await it.store.reserve(aRequest({ limits: [aSpend(90, { counter: 'loss-1' })] }));
      expect(await it.store.reserve(aRequest({ key: { nonce: 1n }, bars: [aBar()] }))).toEqual(reserved);
    });
  });

  describe('the first reason decides', () => {
    /** A request that everything refuses, and the reasons one after the other. */
    test('turned, suspended, stale, bars, limits, holds, accounts', async () => {
      const contract = anAddress(0xc1);
      await it.store.noteGenerations(chainId, [{ id: 'pm-1', generation: 5 }]);
      await it.store.setSuspended(chainId, 'chain', true);
      await it.advance({ charges: [{ ...aBar(), until: always.until, amount: 11 }] });
      await it.deposit(10, { contract });
      const all = aRequest({
        generation: 4,
        bars: [aBar({ counter: 'quiet' }), aBar()],
        limits: [aLimit({ window: anHour(1) }), aLimit({ counter: 'full', threshold: 0 })],
        holds: [aHold(1, { counter: 'free' }), aHold(101)],
        accounts: [aNeed(11, { contract })],
      });
      expect(await it.store.reserve(all)).toMatchObject({ outcome: 'turned' });
      const planned = { ...all, limits: all.limits.map((limit) => ({ ...limit, window: anHour() })) };
      expect(await it.store.reserve(planned)).toEqual({ outcome: 'suspended', id: 'chain' });
      await it.store.setSuspended(chainId, 'chain', false);
      expect(await it.store.reserve(planned)).toEqual({ outcome: 'stale', id: 'pm-1' });
      const current = { ...planned, fences: aRequest({ generation: 5 }).fences };
      expect(await it.store.reserve(current)).toMatchObject({ outcome: 'barred', index: 1 });
      const clean = { ...current, bars: [] };
      expect(await it.store.reserve(clean)).toMatchObject({ outcome: 'limit', index: 1 });
      const within = { ...clean, limits: [] };
      expect(await it.store.reserve(within)).toMatchObject({ outcome: 'held', index: 1 });
      const free = { ...within, holds: [] };
      expect(await it.store.reserve(free)).toMatchObject({ outcome: 'deposit', index: 0 });
      expect(await it.store.liveCount(chainId)).toBe(0);
      expect(await it.store.reserve({ ...free, accounts: [aNeed(10, { contract })] })).toEqual(reserved);
    });
  });

  test('a peek gives the verdict of reserve, shows what others use, and changes nothing', async () => {
    await it.deposit(100);
    const request = (nonce: bigint, cost: number) =>
      aRequest({ key: { nonce }, limits: [aSpend(cost)], holds: [aHold(cost)], accounts: [aNeed(cost)] });
    await it.store.reserve(request(1n, 60));
    const before = await it.store.reservations(chainId);
    expect(await it.store.peek(request(2n, 40))).toEqual({
      result: reserved,
      limits: [{ used: 0, reserved: 60 }],
      holds: [{ taken: 60, most: 100 }],
      accounts: [{ contract: aNeed(1).contract, balance: 100, reserved: 60, readAt: it.clock.now() }],
    });
    expect((await it.store.peek(request(2n, 41))).result).toMatchObject({ outcome: 'limit', used: 60 });
    // A request does not see the amounts of its operation, only those of others.
    expect(await it.store.peek(request(1n, 100))).toMatchObject({
      result: reserved,
      limits: [{ used: 0, reserved: 0 }],
      holds: [{ taken: 0, most: 100 }],
    });
    expect(await it.store.reservations(chainId)).toEqual(before);
  });
}
