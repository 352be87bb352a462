import { describe, expect, test } from '@jest/globals';
import type { CounterId, Reservation } from '../../../core/usage/reservation.js';
import { gwei } from '../../../core/units/wei.js';
import { always } from '../../../core/usage/window.js';
import {
  aDigest,
  aHold,
  aKey,
  aLimit,
  aNeed,
  anHour,
  aRequest,
  aSignedPromise,
  aSpend,
  chainId,
  seconds,
  sorted,
} from '../usage-requests.js';
import { reserved, type Suite } from './suite.js';

/** Losses and corrections, and reservations that a reorganisation brings back. */
export function chargesConformance(it: Suite): void {
  describe('charges', () => {
    const charge = (amount: number, counter = 'loss') => ({
      counter,
      unit: 'NATIVE_ASSET' as const,
      until: anHour().until,
      amount,
    });

    test('add to the settled use of a counter, also of one that nobody has written', async () => {
      await it.advance({ charges: [charge(30), charge(5), charge(7, 'other')] });
      await it.advance({ charges: [charge(1)] });
      expect(await it.stands(charge(0), charge(0, 'other'))).toEqual([
        [36, 0],
        [7, 0],
      ]);
      await it.replaced('reopen');
      expect(await it.stands(charge(0))).toEqual([[36, 0]]);
    });

    test('may pass every threshold, and refuse then', async () => {
      const one = aRequest({ limits: [aSpend(1, { counter: 'loss' })] });
      await it.advance({ charges: [charge(250)] });
      expect(await it.store.reserve(one)).toMatchObject({ outcome: 'limit', used: 250 });
    });

    test('may be negative, and never take more than there is', async () => {
      await it.store.reserve(aRequest({ limits: [aSpend(40, { counter: 'loss' })] }));
      await it.advance({ charges: [charge(30)] });
      await it.advance({ charges: [charge(-10)] });
      expect(await it.stands(charge(0))).toEqual([[20, 40]]);
      await it.advance({ charges: [charge(-500)] });
      expect(await it.stands(charge(0))).toEqual([[0, 40]]);
    });
  });

  describe('restored reservations', () => {
    const ask = () => aRequest({ limits: [aLimit(), aSpend(60)], holds: [aHold(60)], accounts: [aNeed(60)] });
    const only = async (): Promise<Reservation> => sorted(await it.store.reservations(chainId))[0]!;

    test('are live again as they were', async () => {
      await it.deposit(100);
      await it.store.reserve(ask());
      const before = await only();
      const counters = await it.stands(aLimit(), aSpend(0), aHold(0));
      await it.advance({ released: [{ key: aKey() }] });
      await it.advance({ restored: [before] });
      expect(await only()).toEqual(before);
      expect(await it.stands(aLimit(), aSpend(0), aHold(0))).toEqual(counters);
      expect(await it.store.accounts(chainId)).toMatchObject([{ reserved: 60 }]);
      await it.replaced('reopen');
      expect(await only()).toEqual(before);
      await it.advance({ settled: [{ key: aKey(), actualCost: gwei(20) }] });
      expect(await it.stands(aSpend(0), aHold(0))).toEqual([
        [20, 0],
        [0, 0],
      ]);
    });

    test('are live whatever thresholds and balances say', async () => {
      await it.deposit(100);
      await it.store.reserve(ask());
      const before = await only();
      await it.advance({ released: [{ key: aKey() }] });
      expect(await it.store.reserve({ ...ask(), key: aKey({ nonce: 1n }) })).toEqual(reserved);
      await it.advance({ restored: [before] });
      expect(await it.stands(aSpend(0), aHold(0))).toEqual([
        [0, 120],
        [0, 120],
      ]);
      expect(await it.store.reserve(aRequest({ key: { nonce: 2n }, limits: [aSpend(1)] }))).toMatchObject({
        outcome: 'limit',
        used: 120,
      });
      expect(await it.store.reserve(aRequest({ key: { nonce: 2n }, accounts: [aNeed(1)] }))).toMatchObject({
        outcome: 'deposit',
        reserved: 120,
      });
    });

    test('where the operation was promised again meanwhile, count once, at the larger amount, with all promises', async () => {
      await it.store.reserve(
        aRequest({ limits: [aSpend(60)], promise: { digest: aDigest(1), validUntil: seconds(500) } }),
      );
      const before = await only();
      await it.advance({ released: [{ key: aKey() }] });
      await it.store.reserve(
        aRequest({ limits: [aSpend(20), aSpend(5, { counter: 'new' })], promise: { digest: aDigest(2) } }),
      );
      await it.advance({ restored: [before] });
      expect(await it.stands(aSpend(0), aSpend(0, { counter: 'new' }))).toEqual([
        [0, 60],
        [0, 5],
      ]);
      const merged = await only();
      expect(merged.validUntil).toBe(seconds(500));
      expect(merged.promises.map(({ digest }) => digest).toSorted()).toEqual([aDigest(1), aDigest(2)]);
      await it.advance({ released: [{ key: aKey() }] });
      expect(await it.stands(aSpend(0), aSpend(0, { counter: 'new' }))).toEqual([
        [0, 0],
        [0, 0],
      ]);
    });

    test('may carry entries that were folded, and no promise at all', async () => {
      const restored: Reservation = {
        key: aKey(),
        promises: [],
        folded: [
          { ...foldedOf('ERC20'), prefundWei: 10n ** 25n },
          { ...foldedOf('SPONSORED'), validUntil: seconds(700) },
        ],
        validUntil: seconds(700),
        limits: [{ ...nameOf(aSpend(0)), until: always.until, cost: 9 }],
        holds: [{ ...nameOf(aHold(0)), cost: 8 }],
        accounts: [aNeed(7)],
      };
      await it.advance({ restored: [restored] });
      expect(await only()).toEqual(restored);
      await it.replaced('reopen');
      expect(await only()).toEqual(restored);
    });
  });
}

function foldedOf(mode: 'SPONSORED' | 'ERC20') {
  const { contract, prefundWei, validUntil } = aSignedPromise();
  return { mode, contract, prefundWei, validUntil };
}

function nameOf({ counter, unit }: CounterId) {
  return { counter, unit };
}
