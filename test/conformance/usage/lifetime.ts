import { describe, expect, test } from '@jest/globals';
import type { ReservationQuery } from '../../../core/usage/follower-step.js';
import type { EpochMs } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import {
  aHold,
  aKey,
  aLimit,
  anAddress,
  aNeed,
  anHour,
  aRequest,
  aSpend,
  chainId,
  contract,
  entryPoint,
  funding,
  seconds,
  sorted,
} from '../usage-requests.js';
import { reserved, unavailable, type Suite } from './suite.js';

/** Reads of a store, its data after a restart, and its stop. */
export function lifetimeConformance(it: Suite): void {
  describe('live reservations', () => {
    test('are shown with everything that they hold', async () => {
      await it.deposit(1000);
      await it.deposit(1000, { fundingAddress: funding });
      const limits = [aLimit(), aSpend(60)];
      const holds = [aHold(3), aHold(1, { counter: 'live', unit: 'COUNT' })];
      const accounts = [aNeed(5), aNeed(7, { fundingAddress: funding })];
      const request = aRequest({ key: { nonce: (1n << 256n) - 1n }, limits, holds, accounts });
      await it.store.reserve(request);
      expect(sorted(await it.store.reservations(chainId))).toEqual(
        sorted([
          {
            key: request.key,
            promises: [request.promise],
            folded: [],
            validUntil: seconds(300),
            limits: limits.map(({ counter, unit, cost }) => ({ counter, unit, until: anHour().until, cost })),
            holds: holds.map(({ counter, unit, cost }) => ({ counter, unit, cost })),
            accounts,
          },
        ]),
      );
    });

    test('are found by operation for all paymasters, and by the time that has passed', async () => {
      for (const paymasterId of ['pm-1', 'pm-2', 'pm-3'])
        await it.store.reserve(aRequest({ key: { paymasterId }, promise: { validUntil: seconds(600) } }));
      for (const nonce of [2n, 3n, 1n])
        await it.store.reserve(
          aRequest({ key: { nonce }, promise: { validUntil: seconds(Number(nonce) * 100) } }),
        );
      const none: ReservationQuery = { operations: [], expiredBefore: seconds(0), limit: 100 };
      const find = async (change: Partial<ReservationQuery>) =>
        sorted(await it.store.reservations(chainId, { ...none, ...change })).map(
          ({ key }) => `${key.paymasterId}/${key.nonce}`,
        );
      expect(await find({})).toEqual([]);
      expect(await find({ operations: [aKey(), aKey({ nonce: 44n })] })).toEqual([
        'pm-1/0',
        'pm-2/0',
        'pm-3/0',
      ]);
      expect(await find({ operations: [aKey({ entryPoint: anAddress(0xe1) })] })).toEqual([]);
      expect(await find({ expiredBefore: seconds(200) })).toEqual(['pm-1/1']);
      expect(await find({ expiredBefore: seconds(201) })).toEqual(['pm-1/1', 'pm-1/2']);
      // Each appears once, however often it is named.
      const operation = { entryPoint, sender: aKey().sender, nonce: 1n };
      expect(await find({ expiredBefore: seconds(200), operations: [operation, operation] })).toEqual([
        'pm-1/1',
      ]);
      expect(await find({ expiredBefore: seconds(9999), limit: 2 })).toEqual(['pm-1/1', 'pm-1/2']);
      expect([await it.store.liveCount(chainId), await it.store.liveCount(1)]).toEqual([6, 0]);
      await it.advance({ released: [{ key: aKey({ paymasterId: 'pm-2' }) }] });
      expect(await it.store.liveCount(chainId)).toBe(5);
      expect(await find({ operations: [aKey()] })).toEqual(['pm-1/0', 'pm-3/0']);
    });

    test('have expired by the latest of their promises', async () => {
      for (const [i, after] of [100, 300, 200].entries())
        await it.store.reserve(
          aRequest({ promise: { validUntil: seconds(after), digest: `0x${`0${i}`.repeat(16)}` } }),
        );
      const expired = async (before: number) =>
        it.store.reservations(chainId, { operations: [], expiredBefore: seconds(before), limit: 9 });
      expect(await expired(300)).toEqual([]);
      expect(await expired(301)).toHaveLength(1);
    });

    test('have room', () => {
      expect(it.store.capacity()).toBeGreaterThan(0);
    });
  });

  describe('lifetime', () => {
    test('everything is there after a restart', async () => {
      await it.deposit(1000);
      await it.deposit(1000, { fundingAddress: funding });
      const limits = [aLimit({ threshold: 3 }), aSpend(30)];
      const accounts = [aNeed(5), aNeed(7, { fundingAddress: funding })];
      for (const nonce of [1n, 2n, (1n << 256n) - 1n])
        await it.store.reserve(
          aRequest({ key: { nonce }, limits, holds: [aHold(9)], accounts, generation: 4 }),
        );
      await it.advance({ settled: [{ key: aKey({ nonce: 1n }), actualCost: gwei(21) }] });
      const seen = async () => ({
        peek: await it.store.peek(aRequest({ key: { nonce: 9n }, limits, accounts, generation: 4 })),
        stale: await it.store.reserve(aRequest({ key: { nonce: 9n }, generation: 3 })),
        reservations: sorted(await it.store.reservations(chainId)),
        accounts: await it.store.accounts(chainId),
        cursor: await it.store.cursor(chainId),
        counters: await it.stands(aLimit(), aSpend(0), aHold(0)),
        live: await it.store.liveCount(chainId),
      });
      const before = await seen();
      expect(before.stale).toMatchObject({ outcome: 'stale' });
      expect(before.peek.result).toMatchObject({ outcome: 'limit', index: 0, used: 3 });
      expect(before.counters).toEqual([
        [1, 2],
        [21, 60],
        [0, 18],
      ]);
      await it.replaced('reopen');
      expect(await seen()).toEqual(before);
      await it.advance({ released: [{ key: aKey({ nonce: 2n }) }] });
      await it.replaced('reopen');
      expect((await seen()).counters).toEqual([
        [1, 1],
        [21, 30],
        [0, 9],
      ]);
    });

    test('calls that change nothing, the first ones of a process, are not taken for its writes', async () => {
      await it.deposit(100);
      await it.store.reserve(aRequest({ accounts: [aNeed(5)], generation: 4 }));
      await it.replaced('reopen');
      await it.store.noteGenerations(chainId, [{ id: 'pm-1', generation: 4 }]);
      const known = { contract, balance: gwei(7), reserved: gwei(0), readAt: it.clock.now() };
      await it.store.addBalance(chainId, known);
      await it.store.noteGenerations(chainId, [{ id: 'pm-1', generation: 3 }]);
      expect(await it.store.liveCount(chainId)).toBe(1);
      expect(await it.store.reserve(aRequest({ key: { nonce: 1n }, generation: 4 }))).toEqual(reserved);
    });

    test('answers a ping, stops twice, and then answers UNAVAILABLE', async () => {
      const { store } = it;
      await store.ping();
      await store.stop();
      await store.stop();
      for (const call of [
        () => store.ping(),
        () => store.reserve(aRequest()),
        () => store.peek(aRequest()),
        () => store.counters(chainId, []),
        () => store.noteGenerations(chainId, [{ id: 'pm-1', generation: 1 }]),
        () => store.setSuspended(chainId, 'pm-1', true),
        () => store.suspended(chainId),
        () => store.reservations(chainId),
        () => store.liveCount(chainId),
        () => store.cursor(chainId),
        () => store.advance(it.step()),
        () =>
          store.addBalance(chainId, {
            contract,
            balance: gwei(1),
            reserved: gwei(0),
            readAt: it.clock.now(),
          }),
        () => store.accounts(chainId),
        () => store.forgetAccounts(chainId, [{ contract }]),
        () => store.getText('pm-1'),
      ])
        await expect(call()).rejects.toMatchObject(unavailable);
    });

    test('a reservation that was asked for before the stop is answered', async () => {
      const answer = it.store.reserve(aRequest());
      await it.store.stop();
      expect(await answer).toEqual(reserved);
    });
  });

  describe('kept texts', () => {
    const at = (ms: number) => (it.clock.now() + ms) as EpochMs;

    test('the newest message of a paymaster is used up once', async () => {
      await it.store.putText('pm-1', 'first', at(900_000));
      await it.store.putText('pm-1', 'second', at(900_000));
      await it.store.putText('pm-2', 'other', at(900_000));
      expect(await it.store.getText('pm-1')).toBe('second');
      expect(await it.store.takeText('pm-1', 'first')).toBe(false);
      const attempts = await Promise.all([1, 2, 3].map(() => it.store.takeText('pm-1', 'second')));
      expect(attempts.filter(Boolean)).toHaveLength(1);
      expect(await it.store.getText('pm-1')).toBeUndefined();
      expect(await it.store.getText('pm-2')).toBe('other');
    });

    test('several are read at once, without those that have ended', async () => {
      await it.store.putText('a', 'first', at(900_000));
      await it.store.putText('b', 'short', at(1));
      it.clock.advance(1);
      expect(await it.store.getTexts(['a', 'b', 'c'])).toEqual(new Map([['a', 'first']]));
      expect(await it.store.getTexts([])).toEqual(new Map());
    });

    test('a message is added once while it lives, and where there is room among those of its prefix', async () => {
      const add = (name: string, message = name) =>
        it.store.addText(name, message, at(900_000), { prefix: 'once a', most: 3 });
      const added = await Promise.all([1, 2, 3].map((each) => add('once a1', `${each}`)));
      expect(added.filter(Boolean)).toHaveLength(1);
      expect(await it.store.getText('once a1')).toBe(String(added.indexOf(true) + 1));
      await it.store.putText('once b', 'of another prefix', at(900_000));
      expect([await add('once a2'), await add('once a3'), await add('once a4')]).toEqual([true, true, false]);
      it.clock.advance(900_000);
      expect([await add('once a4'), await add('once a1', 'again')]).toEqual([true, true]);
      expect(await it.store.getText('once a1')).toBe('again');
    });

    test('a message outlives a restart and ends with its time', async () => {
      await it.store.putText('pm-1', 'a "quoted"\nmessage', at(900_000));
      await it.replaced('reopen');
      it.clock.advance(899_999);
      expect(await it.store.getText('pm-1')).toBe('a "quoted"\nmessage');
      it.clock.advance(1);
      expect(await it.store.getText('pm-1')).toBeUndefined();
      expect(await it.store.takeText('pm-1', 'a "quoted"\nmessage')).toBe(false);
    });
  });
}
