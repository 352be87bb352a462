import { describe, expect, test } from '@jest/globals';
import { gwei } from '../../../core/units/wei.js';
import { always } from '../../../core/usage/window.js';
import {
  aLimit,
  aHold,
  aKey,
  aNeed,
  aRequest,
  aSpend,
  chainId,
  funding,
  seconds,
} from '../usage-requests.js';
import { depositUnknown, reserved, type Suite } from './suite.js';

/** Bounds of the amounts that are promised at the same time. */
export function holdsConformance(it: Suite): void {
  describe('holds', () => {
    const hold = (nonce: bigint, cost: number, change: Parameters<typeof aHold>[1] = {}) =>
      aRequest({ key: { nonce }, holds: [aHold(cost, change)] });

    test('all holds together may reach the threshold and not exceed it', async () => {
      expect(await it.store.reserve(hold(1n, 60))).toEqual(reserved);
      expect(await it.store.reserve(hold(2n, 41))).toEqual({
        outcome: 'held',
        index: 0,
        taken: 60,
        most: 100,
      });
      expect(await it.store.reserve(hold(3n, 40))).toEqual(reserved);
      expect(await it.store.reserve(hold(4n, 1))).toMatchObject({ outcome: 'held', taken: 100 });
    });

    test.each<{ name: string; end: Parameters<Suite['advance']>[0] }>([
      { name: 'settled', end: { settled: [{ key: aKey({ nonce: 1n }), actualCost: gwei(60) }] } },
      {
        name: 'settled as a token payment',
        end: { settled: [{ key: aKey({ nonce: 1n }), actualCost: undefined }] },
      },
      { name: 'released', end: { released: [{ key: aKey({ nonce: 1n }), validUntil: seconds(300) }] } },
      { name: 'forfeited', end: { forfeited: [{ key: aKey({ nonce: 1n }) }] } },
    ])('are free again when the reservation is $name', async ({ end }) => {
      await it.store.reserve(hold(1n, 60));
      await it.advance(end ?? {});
      expect(await it.stands(aHold(0))).toEqual([[0, 0]]);
      expect(await it.store.reserve(hold(2n, 100))).toEqual(reserved);
    });

    test('settled use of other counters may count as well', async () => {
      const plusUsed = ['losses', 'more', 'never-written'];
      const charge = (counter: string, amount: number) =>
        it.advance({ charges: [{ counter, unit: 'NATIVE_ASSET', until: always.until, amount }] });
      await charge('losses', 30);
      await charge('more', 5);
      // Reserved amounts of those counters do not count.
      await it.store.reserve(aRequest({ key: { nonce: 9n }, limits: [aSpend(50, { counter: 'losses' })] }));
      expect(await it.store.reserve(hold(1n, 66, { plusUsed }))).toEqual({
        outcome: 'held',
        index: 0,
        taken: 35,
        most: 100,
      });
      expect(await it.store.reserve(hold(1n, 65, { plusUsed }))).toEqual(reserved);
      expect(await it.store.reserve(hold(2n, 1, { plusUsed }))).toMatchObject({
        outcome: 'held',
        taken: 100,
      });
      expect(await it.store.reserve(hold(3n, 1, { threshold: 66 }))).toEqual(reserved);
    });

    test('may be a share of an account, rounded down, of the balance as it is now', async () => {
      await it.deposit(199, { fundingAddress: funding });
      await it.deposit(1000);
      const share = (nonce: bigint, cost: number) =>
        aRequest({
          key: { nonce },
          holds: [aHold(cost, { threshold: { account: 1, percent: 25 } })],
          accounts: [aNeed(1), aNeed(cost, { fundingAddress: funding })],
        });
      expect(await it.store.reserve(share(1n, 50))).toEqual({
        outcome: 'held',
        index: 0,
        taken: 0,
        most: 49,
      });
      expect(await it.store.reserve(share(1n, 49))).toEqual(reserved);
      await it.deposit(240, { fundingAddress: funding });
      expect(await it.store.reserve(share(2n, 11))).toEqual(reserved);
      expect(await it.store.reserve(share(3n, 1))).toMatchObject({ outcome: 'held', taken: 60, most: 60 });
      expect((await it.store.peek(share(4n, 1))).holds).toEqual([{ taken: 60, most: 60 }]);
    });

    test('a share of a balance that was never read is an outage', async () => {
      const request = aRequest({
        holds: [aHold(1, { threshold: { account: 0, percent: 100 } })],
        accounts: [aNeed(1)],
      });
      await expect(it.store.reserve(request)).rejects.toMatchObject(depositUnknown);
      expect(await it.store.liveCount(chainId)).toBe(0);
    });

    test('with `admitsOneAlone` one reservation passes while no other holds anything', async () => {
      const alone = { admitsOneAlone: true, threshold: 10 } as const;
      expect(await it.store.reserve(hold(1n, 5000, alone))).toEqual(reserved);
      expect(await it.store.reserve(hold(2n, 1, alone))).toEqual({
        outcome: 'held',
        index: 0,
        taken: 5000,
        most: 10,
      });
      expect(await it.store.reserve(hold(1n, 6000, alone))).toEqual(reserved);
      await it.advance({ released: [{ key: aKey({ nonce: 1n }) }] });
      expect(await it.store.reserve(hold(2n, 11, alone))).toEqual(reserved);
      expect(await it.store.reserve(hold(3n, 1, alone))).toMatchObject({ outcome: 'held', taken: 11 });
    });

    test('`admitsOneAlone` is about that hold only', async () => {
      const both = (nonce: bigint) =>
        aRequest({
          key: { nonce },
          holds: [
            aHold(50, { counter: 'own', admitsOneAlone: true, threshold: 1 }),
            aHold(50, { threshold: 60 }),
          ],
        });
      await it.store.reserve(hold(1n, 20));
      expect(await it.store.reserve(both(2n))).toEqual({ outcome: 'held', index: 1, taken: 20, most: 60 });
    });

    test('of a limit without `enforce` counts, never refuses, and says when it is over', async () => {
      const shadow = (nonce: bigint, cost: number) =>
        aRequest({
          key: { nonce },
          limits: [aLimit(), aSpend(cost, { enforce: false, threshold: 1000 })],
          holds: [aHold(1, { counter: 'own' }), aHold(cost, { ofUnenforced: 1 })],
        });
      expect(await it.store.reserve(shadow(1n, 100))).toEqual(reserved);
      expect(await it.store.reserve(shadow(2n, 1))).toEqual({ ...reserved, overHolds: [1] });
      expect(await it.store.reserve(shadow(3n, 900))).toEqual({ ...reserved, over: [1], overHolds: [1] });
      expect(await it.stands(aHold(0))).toEqual([[0, 1001]]);
      // One that is enforced beside it refuses all the same.
      const full = {
        ...shadow(4n, 1),
        holds: [aHold(1, { ofUnenforced: 1 }), aHold(1, { counter: 'own', threshold: 3 })],
      };
      expect(await it.store.reserve(full)).toMatchObject({ outcome: 'held', index: 1 });
    });

    test('a request that one hold refuses takes nothing of the others', async () => {
      const request = aRequest({ holds: [aHold(1, { counter: 'free' }), aHold(101)], limits: [aSpend(1)] });
      expect(await it.store.reserve(request)).toMatchObject({ outcome: 'held', index: 1 });
      expect(await it.stands(aHold(0, { counter: 'free' }), aHold(0), aSpend(0))).toEqual([
        [0, 0],
        [0, 0],
        [0, 0],
      ]);
    });

    test('holds of one reservation add up when it is asked again with others', async () => {
      await it.store.reserve(hold(1n, 60, { counter: 'a' }));
      await it.store.reserve(hold(1n, 30, { counter: 'b' }));
      expect(await it.stands(aHold(0, { counter: 'a' }), aHold(0, { counter: 'b' }))).toEqual([
        [0, 60],
        [0, 30],
      ]);
      expect((await it.store.reservations(chainId))[0]?.holds).toHaveLength(2);
    });
  });
}
