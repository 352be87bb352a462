import { describe, expect, test } from '@jest/globals';
import { gwei } from '../../../core/units/wei.js';
import { aHold, aKey, aLimit, aRequest, chainId, seconds } from '../usage-requests.js';
import { reserved, type Suite } from './suite.js';

const rate = 1_000_000_000_000_000_000_000n;

/** A counter that paymasters share, of which each may hold a quarter. */
export function budgetsConformance(it: Suite): void {
  const budget = { counter: 'budget', unit: 'USD' as const, threshold: 1_000 };
  const shareOf = (paymasterId: string) => ({ counter: `share/${paymasterId}`, unit: 'USD' as const });
  const ask = (paymasterId: string, nonce: bigint, cost: number, onChain = chainId) =>
    it.store.reserve(
      aRequest({
        key: { paymasterId, nonce, chainId: onChain },
        limits: [aLimit({ ...budget, cost, rate })],
        holds: [aHold(cost, { ...shareOf(paymasterId), threshold: 250 })],
      }),
    );
  const names = (count: number) => Array.from({ length: count }, (_, index) => `pm-${index}`);

  describe('a limit that several paymasters share', () => {
    test('is never exceeded by those that ask at once: each holds at most its part', async () => {
      const asked = names(8).flatMap((name) => [0n, 1n, 2n, 3n].map((nonce) => ask(name, nonce, 100)));
      const outcomes = (await Promise.all(asked)).map(({ outcome }) => outcome);
      expect(outcomes.filter((outcome) => outcome === 'reserved')).toHaveLength(10);
      expect(await it.stands(budget)).toEqual([[0, 1_000]]);
      const held = await it.stands(...names(8).map(shareOf));
      expect(Math.max(...held.map(([, amount]) => amount))).toBeLessThanOrEqual(250);
      expect(held.reduce((sum, [, amount]) => sum + amount, 0)).toBe(1_000);
    });

    test('stays with three parts for others while one paymaster holds its own, and is full after four', async () => {
      for (const name of names(4)) {
        expect(await ask(name, 0n, 250)).toEqual(reserved);
        expect(await ask(name, 1n, 1)).toMatchObject({ outcome: name === 'pm-3' ? 'limit' : 'held' });
      }
      expect(await ask('pm-9', 0n, 1)).toEqual({ outcome: 'limit', index: 0, used: 1_000 });
    });

    test('keeps what was mined, frees the part, and gets both back after a reorganisation', async () => {
      await ask('pm-0', 0n, 250);
      const [before] = await it.store.reservations(chainId);
      const key = aKey({ paymasterId: 'pm-0' });
      await it.advance({ settled: [{ key, actualCost: gwei(100) }] });
      const used = (await it.stands(budget))[0]![0];
      expect(used).toBeGreaterThan(0);
      expect(used).toBeLessThanOrEqual(250);
      expect(await it.stands(shareOf('pm-0'))).toEqual([[0, 0]]);
      const until = aLimit().window.until;
      await it.advance({ restored: [before!], charges: [{ ...budget, until, amount: -used }] });
      expect(await it.stands(budget, shareOf('pm-0'))).toEqual([
        [0, 250],
        [0, 250],
      ]);
      await it.advance({ released: [{ key, validUntil: seconds(300) }] });
      expect(await it.stands(budget, shareOf('pm-0'))).toEqual([
        [0, 0],
        [0, 0],
      ]);
    });

    test('is another one on another chain: what a test chain promises takes nothing of it', async () => {
      expect(await ask('pm-0', 0n, 250, chainId + 1)).toEqual(reserved);
      expect(await it.stands(budget, shareOf('pm-0'))).toEqual([
        [0, 0],
        [0, 0],
      ]);
    });
  });
}
