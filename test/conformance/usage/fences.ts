import { describe, expect, test } from '@jest/globals';
import { contractFence } from '../../../core/usage/counter-names.js';
import { gwei } from '../../../core/units/wei.js';
import { chainFence } from '../../../core/usage/reserve-request.js';
import { aKey, aLimit, aRequest, chainId, contract } from '../usage-requests.js';
import { reserved, type Suite } from './suite.js';

/** Generations and suspensions: they stop signing even if a replica has an outdated config. */
export function fencesConformance(it: Suite): void {
  describe('fences', () => {
    const at = (generation: number, nonce: bigint, paymasterId = 'pm-1') =>
      aRequest({ generation, key: { nonce, paymasterId }, limits: [aLimit({ threshold: 100 })] });
    const stale = { outcome: 'stale', id: 'pm-1' };

    test('an older generation than the newest seen is stale and reserves nothing', async () => {
      expect(await it.store.reserve(at(5, 1n))).toEqual(reserved);
      expect(await it.store.reserve(at(5, 2n))).toEqual(reserved);
      expect(await it.store.reserve(at(4, 3n))).toEqual(stale);
      expect((await it.store.peek(at(4, 3n))).result).toEqual(stale);
      expect(await it.store.liveCount(chainId)).toBe(2);
    });

    test('each fence of a request counts, and the answer names the one that is older', async () => {
      const fences = (chain: number) => [
        { id: 'pm-1', generation: 1 },
        { id: chainFence, generation: chain },
      ];
      expect(await it.store.reserve({ ...at(1, 1n), fences: fences(9) })).toEqual(reserved);
      expect(await it.store.reserve({ ...at(1, 2n), fences: fences(8) })).toEqual({
        outcome: 'stale',
        id: chainFence,
      });
    });

    test('ids are independent, as are chains', async () => {
      expect(await it.store.reserve(at(9, 1n))).toEqual(reserved);
      expect(await it.store.reserve(at(1, 1n, 'pm-2'))).toEqual(reserved);
      expect(await it.store.reserve(aRequest({ generation: 1, key: { chainId: 1 } }))).toEqual(reserved);
    });

    test('a newer generation is remembered without a reservation', async () => {
      await it.store.noteGenerations(chainId, [
        { id: 'pm-1', generation: 7 },
        { id: 'pm-2', generation: 3 },
      ]);
      expect(await it.store.reserve(at(6, 1n))).toEqual(stale);
      expect(await it.store.reserve(at(2, 1n, 'pm-2'))).toEqual({ outcome: 'stale', id: 'pm-2' });
      expect(await it.store.reserve(at(7, 1n))).toEqual(reserved);
      await it.replaced('reopen');
      expect(await it.store.reserve(at(6, 2n))).toEqual(stale);
    });

    test('an older generation that is noted changes nothing', async () => {
      await it.store.noteGenerations(chainId, [{ id: 'pm-1', generation: 7 }]);
      await it.store.noteGenerations(chainId, [{ id: 'pm-1', generation: 3 }]);
      expect(await it.store.reserve(at(6, 1n))).toEqual(stale);
    });

    test('a newer generation is remembered also when its request was refused', async () => {
      const full = { ...at(7, 1n), limits: [aLimit({ threshold: 0 })] };
      expect(await it.store.reserve(full)).toMatchObject({ outcome: 'limit' });
      expect(await it.store.reserve(at(6, 1n))).toEqual(stale);
    });

    test('a peek leaves none behind', async () => {
      expect((await it.store.peek(at(9, 1n))).result).toEqual(reserved);
      expect(await it.store.reserve(at(1, 1n))).toEqual(reserved);
    });

    test('a suspended id is refused at any generation until it is resumed', async () => {
      await it.store.setSuspended(chainId, 'pm-1', true);
      await it.store.setSuspended(chainId, 'pm-1', true);
      const suspended = { outcome: 'suspended', id: 'pm-1' };
      for (const generation of [1, 99]) expect(await it.store.reserve(at(generation, 1n))).toEqual(suspended);
      expect((await it.store.peek(at(1, 1n))).result).toEqual(suspended);
      expect(await it.store.reserve(at(1, 1n, 'pm-2'))).toEqual(reserved);
      expect(await it.store.suspended(chainId)).toEqual(['pm-1']);
      expect(await it.store.suspended(1)).toEqual([]);
      await it.replaced('reopen');
      expect(await it.store.reserve(at(99, 1n))).toEqual(suspended);
      await it.store.setSuspended(chainId, 'pm-1', false);
      expect(await it.store.suspended(chainId)).toEqual([]);
      expect(await it.store.reserve(at(99, 1n))).toEqual(reserved);
    });

    test('the chain and a contract can be suspended, for every request that names them', async () => {
      const fence = contractFence(contract);
      const naming = (nonce: bigint) => ({
        ...at(1, nonce),
        fences: [...at(1, nonce).fences, { id: fence, generation: 0 }],
      });
      expect(await it.store.reserve(naming(1n))).toEqual(reserved);
      await it.store.setSuspended(chainId, fence, true);
      expect(await it.store.reserve(naming(2n))).toEqual({ outcome: 'suspended', id: fence });
      expect(await it.store.reserve(at(1, 2n))).toEqual(reserved);
      await it.store.setSuspended(chainId, chainFence, true);
      expect(await it.store.reserve(at(1, 3n))).toEqual({ outcome: 'suspended', id: chainFence });
      expect((await it.store.suspended(chainId)).toSorted()).toEqual([chainFence, fence]);
    });

    test('a suspended id is still settled', async () => {
      await it.store.reserve(at(1, 1n));
      await it.store.setSuspended(chainId, 'pm-1', true);
      await it.advance({ settled: [{ key: aKey({ nonce: 1n }), actualCost: gwei(1) }] });
      expect(await it.stands(aLimit())).toEqual([[1, 0]]);
    });
  });
}
