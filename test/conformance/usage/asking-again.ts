import { describe, expect, test } from '@jest/globals';
import type { ReservationKey } from '../../../core/usage/reservation.js';
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
  funding,
  hourMs,
  seconds,
  sorted,
} from '../usage-requests.js';
import { reserved, type Suite } from './suite.js';

/** There is one reservation per (paymasterId, entryPoint, sender, nonce), whatever is requested for it again. */
export function askingAgainConformance(it: Suite): void {
  describe('asking again for the same operation', () => {
    test('counts once, at the larger amount, whatever the order of costs', async () => {
      await it.deposit(1000);
      for (const cost of [50, 80, 20])
        expect(
          await it.store.reserve(
            aRequest({ limits: [aSpend(cost), aLimit()], holds: [aHold(cost)], accounts: [aNeed(cost)] }),
          ),
        ).toEqual(reserved);
      expect(await it.stands(aSpend(0), aLimit(), aHold(0))).toEqual([
        [0, 80],
        [0, 1],
        [0, 80],
      ]);
      expect(await it.store.accounts(chainId)).toMatchObject([{ contract, reserved: 80 }]);
      expect(await it.store.liveCount(chainId)).toBe(1);
    });

    test('counts the larger amount of each counter on its own', async () => {
      const ask = (a: number, b: number) =>
        it.store.reserve(aRequest({ limits: [aSpend(a, { counter: 'a' }), aSpend(b, { counter: 'b' })] }));
      await ask(70, 10);
      await ask(20, 40);
      expect(await it.stands(aSpend(0, { counter: 'a' }), aSpend(0, { counter: 'b' }))).toEqual([
        [0, 70],
        [0, 40],
      ]);
    });

    test.each<{ name: string; dear: Parameters<typeof aRequest>[0]; outcome: string }>([
      { name: 'limit', dear: { limits: [aSpend(101)] }, outcome: 'limit' },
      { name: 'hold', dear: { holds: [aHold(101)] }, outcome: 'held' },
      { name: 'account', dear: { accounts: [aNeed(101)] }, outcome: 'deposit' },
    ])(
      'is refused when the larger amount does not fit its $name, and the earlier one stands',
      async ({ dear, outcome }) => {
        await it.deposit(100);
        const ask = { limits: [aSpend(60)], holds: [aHold(60)], accounts: [aNeed(60)] };
        expect(await it.store.reserve(aRequest(ask))).toEqual(reserved);
        const before = await it.store.reservations(chainId);
        const again = aRequest({
          ...ask,
          ...dear,
          promise: { digest: `0x${'77'.repeat(16)}`, validUntil: seconds(900) },
        });
        expect(await it.store.reserve(again)).toMatchObject({ outcome });
        expect(await it.store.reservations(chainId)).toEqual(before);
        expect(await it.stands(aSpend(0), aHold(0))).toEqual([
          [0, 60],
          [0, 60],
        ]);
      },
    );

    test('is decided at the larger amount, also when the smaller one would fit', async () => {
      await it.store.reserve(aRequest({ limits: [aSpend(80)] }));
      const lowered = aRequest({ limits: [aSpend(10, { threshold: 50 })] });
      expect(await it.store.reserve(lowered)).toMatchObject({ outcome: 'limit', used: 0 });
    });

    test('keeps the later expiry', async () => {
      for (const [i, after] of [300, 900, 600].entries())
        expect(
          await it.store.reserve(
            aRequest({ promise: { validUntil: seconds(after), digest: `0x${String(i).repeat(32)}` } }),
          ),
        ).toEqual(reserved);
      expect(await it.store.reservations(chainId)).toMatchObject([{ validUntil: seconds(900) }]);
    });

    test('passes with its own share when limit, hold and account are full of it', async () => {
      await it.deposit(100);
      const request = aRequest({
        limits: [aLimit({ threshold: 1 })],
        holds: [aHold(100)],
        accounts: [aNeed(100)],
      });
      expect(await it.store.reserve(request)).toEqual(reserved);
      expect(await it.store.reserve(request)).toEqual(reserved);
      expect((await it.store.peek(request)).limits).toEqual([{ used: 0, reserved: 0 }]);
      expect(await it.store.reserve({ ...request, key: aKey({ nonce: 1n }) })).toMatchObject({
        outcome: 'limit',
      });
    });

    test('in the next window reserves there in full and keeps what it holds in the former one', async () => {
      const limit = (n: number) => aLimit({ counter: `hour-${n}`, window: anHour(n), threshold: 1 });
      expect(
        await it.store.reserve(aRequest({ limits: [limit(0)], promise: { validUntil: seconds(7200) } })),
      ).toEqual(reserved);
      it.clock.advance(hourMs);
      expect(
        await it.store.reserve(aRequest({ limits: [limit(1)], promise: { validUntil: seconds(7200) } })),
      ).toEqual(reserved);
      expect(await it.store.reserve(aRequest({ key: { nonce: 1n }, limits: [limit(1)] }))).toMatchObject({
        outcome: 'limit',
        used: 1,
      });
      expect((await it.store.reservations(chainId))[0]?.limits).toHaveLength(2);
    });

    test('reserves a limit that is new since then, and refuses when that one is full', async () => {
      const old = aLimit({ counter: 'old' });
      const added = aLimit({ counter: 'added', threshold: 1 });
      expect(await it.store.reserve(aRequest({ limits: [old] }))).toEqual(reserved);
      expect(await it.store.reserve(aRequest({ key: { nonce: 1n }, limits: [added] }))).toEqual(reserved);
      expect(await it.store.reserve(aRequest({ limits: [old, added] }))).toMatchObject({
        outcome: 'limit',
        index: 1,
      });
      expect(sorted(await it.store.reservations(chainId))[0]?.limits).toHaveLength(1);
    });

    test('on another account keeps the need of the former one', async () => {
      await it.deposit(100);
      await it.deposit(100, { fundingAddress: funding });
      await it.store.reserve(aRequest({ accounts: [aNeed(30)] }));
      await it.store.reserve(aRequest({ accounts: [aNeed(50, { fundingAddress: funding })] }));
      const accounts = await it.store.accounts(chainId);
      expect(accounts.map((one) => one.reserved).toSorted((a, b) => a - b)).toEqual([30, 50]);
    });

    test.each<{ name: string; other: Partial<ReservationKey> }>([
      { name: 'the same low bits of another nonce key', other: { nonce: 1n << 255n } },
      { name: 'another sender', other: { sender: anAddress(0xa1) } },
      { name: 'another paymaster', other: { paymasterId: 'pm-2' } },
      { name: 'another EntryPoint', other: { entryPoint: anAddress(0xe1) } },
    ])('is about the same operation only: $name is another', async ({ other }) => {
      const limits = [aLimit({ threshold: 1 })];
      expect(await it.store.reserve(aRequest({ limits }))).toEqual(reserved);
      expect(await it.store.reserve(aRequest({ limits, key: other }))).toMatchObject({ outcome: 'limit' });
    });

    test('is about the same chain only', async () => {
      for (const id of [chainId, 1])
        expect(await it.store.reserve(aRequest({ key: { chainId: id } }))).toEqual(reserved);
      for (const id of [chainId, 1])
        expect((await it.store.reservations(id)).map(({ key }) => key)).toEqual([aKey({ chainId: id })]);
    });
  });
}
