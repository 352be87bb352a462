import { describe, expect, test } from '@jest/globals';
import { keptPromises, type SignedPromise } from '../../../core/usage/reservation.js';
import {
  aDigest,
  aLimit,
  anAddress,
  aRequest,
  aSignedPromise,
  chainId,
  contract,
  funding,
  seconds,
  sorted,
  token,
} from '../usage-requests.js';
import { reserved, type Suite } from './suite.js';

/** The record of a reservation about the signatures that were given for it. */
export function promisesConformance(it: Suite): void {
  const ask = async (promise: Partial<SignedPromise>) => {
    expect(await it.store.reserve(aRequest({ promise }))).toEqual(reserved);
  };
  const only = async () => sorted(await it.store.reservations(chainId))[0];

  describe('promises of a reservation', () => {
    test('are kept with everything that they were made with, the newest first', async () => {
      const sponsored = aSignedPromise({
        digest: aDigest(1),
        fundingAddress: funding,
        prefundWei: (1n << 120n) + 7n,
      });
      const paid = aSignedPromise({
        digest: aDigest(2),
        mode: 'ERC20',
        token,
        validUntil: seconds(200),
        prefundWei: 0n,
      });
      await ask(sponsored);
      await ask(paid);
      expect(await only()).toMatchObject({
        promises: [paid, sponsored],
        folded: [],
        validUntil: seconds(300),
      });
      await it.replaced('reopen');
      expect((await only())?.promises).toEqual([paid, sponsored]);
    });

    test('keep the operation hashes that were known when they were made', async () => {
      const hashes = `${aDigest(1)}${'ab'.repeat(16)}` as const;
      const [first, second, third] = [
        aSignedPromise({ digest: aDigest(1), hashes }),
        aSignedPromise({ digest: aDigest(2), mode: 'ERC20', token, fundingAddress: funding }),
        aSignedPromise({ digest: aDigest(3), hashes: `${hashes}${aDigest(2).slice(2)}${'cd'.repeat(16)}` }),
      ];
      for (const one of [first!, second!, third!]) await ask(one);
      expect((await only())?.promises).toEqual([third, second, first]);
      await it.replaced('reopen');
      expect((await only())?.promises).toEqual([third, second, first]);
    });

    test('one per digest: what is signed twice is one promise', async () => {
      for (const n of [1, 2, 1]) await ask({ digest: aDigest(n) });
      expect((await only())?.promises.map(({ digest }) => digest).toSorted()).toEqual([
        aDigest(1),
        aDigest(2),
      ]);
    });

    test('a refusal adds none', async () => {
      await ask({ digest: aDigest(1) });
      const refused = aRequest({ promise: { digest: aDigest(2) }, limits: [aLimit({ threshold: 0 })] });
      expect(await it.store.reserve(refused)).toMatchObject({ outcome: 'limit' });
      expect((await only())?.promises).toHaveLength(1);
    });

    test('the newest sixteen are kept one by one, older ones as one entry per mode and contract', async () => {
      const other = anAddress(0xc1);
      const made = Array.from({ length: keptPromises + 5 }, (_, i) =>
        aSignedPromise({
          digest: aDigest(i + 1),
          mode: i % 2 === 0 ? 'SPONSORED' : 'ERC20',
          contract: i === 4 ? other : contract,
          // Neither the highest prefund nor the latest time belongs to the promise that is folded last.
          prefundWei: [5n, 60n, 70n, 20n, 9n][i] ?? 1n,
          validUntil: seconds([400, 200, 100, 250, 500][i] ?? 300),
        }),
      );
      for (const promise of made.slice(0, keptPromises)) await ask(promise);
      expect((await only())?.folded).toEqual([]);
      for (const promise of made.slice(keptPromises)) await ask(promise);
      const reservation = await only();
      expect(reservation?.promises.map(({ digest }) => digest)).toEqual(
        made
          .slice(-keptPromises)
          .toReversed()
          .map(({ digest }) => digest),
      );
      expect(reservation?.folded).toEqual([
        { mode: 'ERC20', contract, prefundWei: 60n, validUntil: seconds(250) },
        { mode: 'SPONSORED', contract, prefundWei: 70n, validUntil: seconds(400) },
        { mode: 'SPONSORED', contract: other, prefundWei: 9n, validUntil: seconds(500) },
      ]);
      expect(reservation?.validUntil).toBe(seconds(500));
    });

    test('are never too many to ask again', async () => {
      for (let i = 0; i < 300; i++) await ask({ digest: aDigest(i), prefundWei: BigInt(i) });
      const reservation = await only();
      expect(reservation?.promises).toHaveLength(keptPromises);
      expect(reservation?.folded).toEqual([
        { mode: 'SPONSORED', contract, prefundWei: BigInt(299 - keptPromises), validUntil: seconds(300) },
      ]);
    });
  });
}
