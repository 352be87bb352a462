import { describe, expect, test } from '@jest/globals';
import type { ReserveResult } from '../../../core/usage/reserve-request.js';
import { gwei } from '../../../core/units/wei.js';
import { aLimit, aNeed, aRequest, chainId, contract } from '../usage-requests.js';
import { reserved, type Suite } from './suite.js';

/** A caller that pushes a request goes on within its answer. It finds the rows of its turn, and harms no other call. */
export function goingOnConformance(it: Suite): void {
  describe('a caller that goes on within its answer', () => {
    const threshold = 5;
    const limits = [aLimit({ threshold })];
    const anOperation = (nonce: number) => aRequest({ key: { nonce: BigInt(nonce) }, limits });
    const counted = async (): Promise<number> => (await it.stands(...limits))[0]![1];
    /** The first call about a chain waits until its epoch is known; no later one does. */
    const begin = () => it.store.reserve(anOperation(0));

    test('finds all that its turn has reserved', async () => {
      await begin();
      const asked = [1, 2, 3, 4].map((nonce) => it.store.push(anOperation(nonce)).then(counted));
      expect(await Promise.all(asked)).toEqual(asked.map(() => threshold));
    });

    test('may ask for more, and everything that passes stays within the limit', async () => {
      await begin();
      const answers: ReserveResult[] = [];
      const ask = (nonce: number): PromiseLike<unknown> =>
        it.store.push(anOperation(nonce)).then((result) => {
          answers.push(result);
          return nonce < 100 ? ask(nonce + 10) : undefined;
        });
      await Promise.all(Array.from({ length: 10 }, (_, nth) => ask(nth + 1)));
      expect(answers).toHaveLength(9 * 11 + 10);
      expect(answers.filter(({ outcome }) => outcome === 'reserved')).toHaveLength(threshold - 1);
      expect(await counted()).toBe(threshold);
      expect(await it.store.liveCount(chainId)).toBe(threshold);
    });

    test('and fails harms no call that is answered after it', async () => {
      await begin();
      const failing = it.store.push(anOperation(1)).then(() => {
        throw new Error('a fault of the caller');
      });
      const others = [2, 3].map((nonce) => it.store.push(anOperation(nonce)));
      await expect((async () => failing)()).rejects.toThrow('a fault of the caller');
      expect(await Promise.all(others)).toEqual(others.map(() => reserved));
    });

    test('may give an account its balance when it is unknown, and ask again', async () => {
      await begin();
      const request = aRequest({ key: { nonce: 1n }, accounts: [aNeed(1)] });
      const again = it.store.push(request).then(undefined, async () => {
        await it.store.addBalance(chainId, {
          contract,
          balance: gwei(10),
          reserved: gwei(0),
          readAt: it.clock.now(),
        });
        return it.store.push(request);
      });
      expect(await again).toEqual(reserved);
    });
  });
}
