import { describe, expect, test } from '@jest/globals';
import { gwei } from '../../../core/units/wei.js';
import { aDigest, aHash, aKey, aLimit, aRequest, chainId, seconds } from '../usage-requests.js';
import { reserved, type Suite } from './suite.js';

const usd = (dollars: number): bigint => BigInt(dollars) * 10n ** 18n;
const coin = gwei(1_000_000_000);
/** What a coin, or a part of it, costs with the margin of one percent. */
const micro = (dollars: number): number => dollars * 1_010_000;

/** Limits in dollars: the price of the promise stays with the reservation, and a mined operation is counted by it. */
export function ratesConformance(it: Suite): void {
  const limit = { counter: 'dollars', unit: 'USD' as const, threshold: micro(10_000) };
  const promise = (nonce: bigint, price: number, change: Partial<Parameters<typeof aRequest>[0]> = {}) =>
    it.store.reserve(
      aRequest({
        key: { nonce },
        limits: [aLimit({ ...limit, cost: micro(price), rate: usd(price) })],
        promise: { digest: aDigest(price) },
        ...change,
      }),
    );
  const stands = async () => (await it.stands(limit))[0];
  const settle = (nonce: bigint, cost: number) =>
    it.advance({ settled: [{ key: aKey({ nonce }), actualCost: gwei(cost) }] });

  describe('limits with a rate', () => {
    test('count what was mined at the price of the promise, also after the data were opened again', async () => {
      expect(await promise(1n, 3_000)).toEqual(reserved);
      await it.replaced('reopen');
      await settle(1n, coin / 2);
      expect(await stands()).toEqual([micro(1_500), 0]);
    });

    test('never count more than was reserved', async () => {
      await promise(1n, 3_000);
      await settle(1n, 5 * coin);
      expect(await stands()).toEqual([micro(3_000), 0]);
    });

    test('hold the higher price when an operation is promised again, in either order', async () => {
      await promise(1n, 3_000);
      await promise(1n, 4_000);
      await promise(2n, 4_000);
      await promise(2n, 3_000);
      expect(await stands()).toEqual([0, micro(8_000)]);
      await settle(1n, coin / 2);
      await settle(2n, coin / 2);
      expect(await stands()).toEqual([micro(4_000), 0]);
    });

    test('refuse a second promise whose price has risen above what is left', async () => {
      await promise(1n, 9_000);
      expect(await promise(1n, 10_001)).toEqual({ outcome: 'limit', index: 0, used: 0 });
      expect(await stands()).toEqual([0, micro(9_000)]);
    });

    test('a commit that was never finalized leaves the price of the signed promise', async () => {
      const phase = { kind: 'commit', commitment: aHash(7) } as const;
      await promise(1n, 3_000);
      await promise(1n, 6_000, { phase });
      expect(await stands()).toEqual([0, micro(6_000)]);
      it.clock.advance(60_000);
      await it.store.dropCommits(chainId);
      expect(await stands()).toEqual([0, micro(3_000)]);
      await settle(1n, coin / 2);
      expect(await stands()).toEqual([micro(1_500), 0]);
    });

    test('a finalize raises what was signed before to the price of the commit', async () => {
      const commitment = aHash(7);
      await promise(1n, 3_000);
      await promise(1n, 6_000, { phase: { kind: 'commit', commitment } });
      expect(await promise(1n, 6_000, { phase: { kind: 'finalize', commitment } })).toEqual(reserved);
      it.clock.advance(60_000);
      await it.store.dropCommits(chainId);
      await settle(1n, coin / 2);
      expect(await stands()).toEqual([micro(3_000), 0]);
    });

    test('a restored reservation has its price again', async () => {
      await promise(1n, 3_000);
      const [before] = await it.store.reservations(chainId);
      await it.advance({ released: [{ key: aKey({ nonce: 1n }), validUntil: seconds(300) }] });
      await it.advance({ restored: [before!] });
      expect(await it.store.reservations(chainId)).toEqual([before]);
      await settle(1n, 333_333_333);
      expect((await stands())?.[0]).toBe(Math.ceil((333_333_333 * 3_030) / 1_000));
    });
  });
}
