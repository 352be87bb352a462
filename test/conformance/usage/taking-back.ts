import { describe, expect, test } from '@jest/globals';
import type { ReserveRequest, UnsignedPromise } from '../../../core/usage/reserve-request.js';
import { aStepDecision, aStepExpiry, stepRecordId, written } from '../step-records.js';
import {
  aDigest,
  aHash,
  aHold,
  aKey,
  aLimit,
  aNeed,
  aRequest,
  aSpend,
  chainId,
  sorted,
} from '../usage-requests.js';
import { reserved, type Suite } from './suite.js';

/** A promise that was reserved and could not be signed. */
export function takingBackConformance(it: Suite): void {
  const of = (change: Partial<UnsignedPromise> = {}): UnsignedPromise => ({
    key: aKey(),
    digest: aDigest(1),
    ...change,
  });
  const amounts = { limits: [aSpend(60), aLimit()], holds: [aHold(60)], accounts: [aNeed(60)] };
  const reserve = async (request: Parameters<typeof aRequest>[0] = {}) => {
    expect(await it.store.reserve(aRequest({ ...amounts, ...request }))).toEqual(reserved);
  };
  const stands = () => it.stands(aSpend(0), aLimit(), aHold(0));
  const none = [
    [0, 0],
    [0, 0],
    [0, 0],
  ];
  const all = [
    [0, 60],
    [0, 1],
    [0, 60],
  ];

  describe('taking back a promise that was never signed', () => {
    test('frees everything that it took, and its operation may be promised again', async () => {
      await it.deposit(100);
      await reserve();
      expect(await it.store.takeBack(of())).toEqual({ isFree: true });
      expect(await stands()).toEqual(none);
      expect(await it.store.accounts(chainId)).toMatchObject([{ reserved: 0 }]);
      expect(await it.store.liveCount(chainId)).toBe(0);
      await reserve({ key: { nonce: 1n } });
    });

    test('is durable, and happens once', async () => {
      await it.deposit(100);
      await reserve();
      await it.store.takeBack(of());
      await it.replaced('reopen');
      expect(await stands()).toEqual(none);
      expect(await it.store.takeBack(of())).toEqual({ isFree: false });
    });

    test.each<{ name: string; others: readonly Parameters<typeof aRequest>[0][] }>([
      { name: 'the same promise, made by somebody else who may have signed it', others: [{}] },
      {
        name: 'promises that were folded',
        others: [...Array(20).keys()].map((n) => ({ promise: { digest: aDigest(n + 2) } })),
      },
      {
        name: 'the same promise, folded, and made again by somebody else who may have signed it',
        others: [...Array(21).keys()].map((n) => ({ promise: { digest: aDigest(((n + 1) % 21) + 1) } })),
      },
      { name: 'a commit', others: [{ phase: { kind: 'commit', commitment: aHash(1) } }] },
    ])('changes nothing where there is $name', async ({ others }) => {
      await it.deposit(100);
      await reserve();
      for (const other of others) await reserve(other);
      const before = sorted(await it.store.reservations(chainId));
      expect(await it.store.takeBack(of())).toEqual({ isFree: false });
      expect(await stands()).toEqual(all);
      expect(sorted(await it.store.reservations(chainId))).toEqual(before);
    });

    test.each([
      { name: 'the first', digest: aDigest(1), left: aDigest(2) },
      { name: 'the second', digest: aDigest(2), left: aDigest(1) },
    ])(
      'forgets it where it is $name of two of a nonce, and keeps everything reserved for the other',
      async ({ digest, left }) => {
        await it.deposit(100);
        await reserve();
        await reserve({ promise: { digest: aDigest(2) } });
        const [before] = await it.store.reservations(chainId);
        expect(await it.store.takeBack(of({ digest, record: aStepExpiry(2) }))).toEqual({ isFree: false });
        await it.replaced('reopen');
        const promises = before!.promises.filter((one) => one.digest === left);
        expect(promises).toHaveLength(1);
        expect(await it.store.reservations(chainId)).toEqual([{ ...before, promises }]);
        expect(await stands()).toEqual(all);
        expect(await it.harness.takeRecords()).toEqual([]);
      },
    );

    test('frees everything with the last of several promises', async () => {
      await it.deposit(100);
      await reserve();
      await reserve({ promise: { digest: aDigest(2) } });
      await it.store.takeBack(of());
      expect(await it.store.takeBack(of({ digest: aDigest(2) }))).toEqual({ isFree: true });
      expect(await stands()).toEqual(none);
      expect(await it.store.liveCount(chainId)).toBe(0);
    });

    test('remembers over a restart that a promise was made twice', async () => {
      await it.deposit(100);
      await reserve();
      await reserve();
      await it.replaced('reopen');
      expect(await it.store.takeBack(of())).toEqual({ isFree: false });
      expect(await stands()).toEqual(all);
    });

    test('changes nothing where the same promise comes back after a reorganisation', async () => {
      await it.deposit(100);
      await reserve();
      const [first] = await it.store.reservations(chainId);
      await it.advance({ released: [{ key: aKey() }] });
      await reserve();
      await it.advance({ restored: [first!] });
      expect(await it.store.takeBack(of())).toEqual({ isFree: false });
      expect(await stands()).toEqual(all);
    });

    test('ignores a reservation that is not there, and one of another promise', async () => {
      await it.deposit(100);
      await reserve();
      expect(await it.store.takeBack(of({ key: aKey({ nonce: 9n }) }))).toEqual({ isFree: false });
      expect(await it.store.takeBack(of({ digest: aDigest(9) }))).toEqual({ isFree: false });
      expect(await stands()).toEqual(all);
    });

    test('adds its record with the id of the reservation, and none where nothing ended', async () => {
      const recorded = (number: number): Pick<ReserveRequest, 'record'> => ({
        record: aStepDecision(number),
      });
      await it.deposit(100);
      await reserve(recorded(1));
      expect(await it.store.takeBack(of({ record: aStepExpiry(2) }))).toEqual({ isFree: true });
      expect(await it.store.takeBack(of({ record: aStepExpiry(3) }))).toEqual({ isFree: false });
      expect(await it.harness.takeRecords()).toEqual([
        written(aStepDecision(1), stepRecordId(1)),
        written(aStepExpiry(2), stepRecordId(1)),
      ]);
    });
  });
}
