import { describe, expect, test } from '@jest/globals';
import { gwei } from '../../../core/units/wei.js';
import type { TakenStep } from '../../../core/usage/follower-step.js';
import { itemsPerPart } from '../../../core/usage/step-parts.js';
import { maxTakenSteps } from '../../../core/usage/taken-step.js';
import {
  aDigest,
  aHash,
  aHold,
  aKey,
  aLimit,
  aNeed,
  anHour,
  aRequest,
  aSpend,
  chainId,
  seconds,
  sorted,
} from '../usage-requests.js';
import { aStepDecision, aStepSettlement } from '../step-records.js';
import { type Suite } from './suite.js';

/** What a follower needs to take back steps of one that was killed. */
export function takenStepsConformance(it: Suite): void {
  const ask = (nonce: bigint, cost = 60) =>
    aRequest({
      key: { nonce },
      limits: [aLimit({ threshold: 1_000 }), aSpend(cost, { threshold: 1_000 })],
      holds: [aHold(cost, { threshold: 1_000 })],
      record: aStepDecision(Number(nonce)),
    });
  const blocksOf = (steps: readonly TakenStep[]) => steps.map(({ next }) => next.blockNumber);
  const endings = (steps: readonly TakenStep[]) =>
    steps.flatMap(({ ended }) =>
      ended
        .map(({ reservation, how, actualCost }) => [Number(reservation.key.nonce), how, actualCost])
        .toSorted(([a], [b]) => Number(a) - Number(b)),
    );
  const loss = { counter: 'loss', unit: 'NATIVE_ASSET', until: anHour().until, amount: 7 } as const;

  describe('taken steps', () => {
    test('are kept with what they ended and charged, also for the next process', async () => {
      await it.deposit(1_000);
      for (const nonce of [1n, 2n, 3n, 4n]) await it.store.reserve({ ...ask(nonce), accounts: [aNeed(60)] });
      const live = sorted(await it.store.reservations(chainId));
      const expected = await it.store.cursor(chainId);
      await it.advance({
        settled: [
          { key: aKey({ nonce: 1n }), actualCost: gwei(25) },
          { key: aKey({ nonce: 2n }), actualCost: undefined },
        ],
        released: [{ key: aKey({ nonce: 3n }) }],
        forfeited: [{ key: aKey({ nonce: 4n }) }],
        charges: [loss],
      });
      const check = async () => {
        const steps = await it.store.takenSteps(chainId);
        expect(blocksOf(steps)).toEqual([1, 2]);
        expect(steps.map(({ from }) => from)).toEqual([undefined, expected]);
        expect(steps.map(({ charges }) => charges)).toEqual([[], [loss]]);
        expect(endings(steps)).toEqual([
          [1, 'settled', 25],
          [2, 'settled', undefined],
          [3, 'released', undefined],
          [4, 'forfeited', undefined],
        ]);
        expect(sorted(steps.flatMap(({ ended }) => ended.map(({ reservation }) => reservation)))).toEqual(
          live,
        );
      };
      await check();
      await it.replaced('reopen');
      await check();
    });

    test('hold promises that were added after the follower had read the reservation', async () => {
      await it.store.reserve(ask(1n, 10));
      await it.store.reserve({ ...ask(1n, 40), promise: { ...ask(1n).promise, digest: aDigest(2) } });
      await it.advance({ settled: [{ key: aKey({ nonce: 1n }), actualCost: gwei(5) }] });
      const [step] = await it.store.takenSteps(chainId);
      expect(step?.ended[0]?.reservation.promises.map(({ digest }) => digest)).toEqual([
        aDigest(2),
        aDigest(1),
      ]);
    });

    test('leave out steps that were not taken, or that changed nothing at the same block', async () => {
      await it.advance();
      const cursor = await it.store.cursor(chainId);
      await it.advance({ next: cursor! });
      expect(await it.store.advance(it.step({ expected: undefined }))).toEqual({ isTaken: false });
      expect(blocksOf(await it.store.takenSteps(chainId))).toEqual([1]);
      await it.store.reserve(ask(1n));
      await it.advance({ next: cursor!, released: [{ key: aKey({ nonce: 1n }) }] });
      expect(endings(await it.store.takenSteps(chainId))).toEqual([[1, 'released', undefined]]);
    });

    test('are forgotten when they are taken back; the step that does so is not kept', async () => {
      for (const nonce of [1n, 2n]) await it.store.reserve(ask(nonce));
      await it.advance({ settled: [{ key: aKey({ nonce: 1n }), actualCost: gwei(25) }] });
      const common = await it.store.cursor(chainId);
      await it.advance({ settled: [{ key: aKey({ nonce: 2n }), actualCost: gwei(30) }] });
      await it.advance();
      const taken = await it.store.takenSteps(chainId);
      const restored = taken[1]!.ended.map(({ reservation }) => reservation);
      await it.advance({ next: common!, takesBackAfter: common!.blockNumber, restored, charges: [] });
      expect(blocksOf(await it.store.takenSteps(chainId))).toEqual([1]);
      expect(sorted(await it.store.reservations(chainId))).toEqual(sorted(restored));
      await it.advance({ settled: [{ key: aKey({ nonce: 2n }), actualCost: gwei(31) }] });
      expect(endings(await it.store.takenSteps(chainId))).toEqual([
        [1, 'settled', 25],
        [2, 'settled', 31],
      ]);
      const cursor = await it.store.cursor(chainId);
      await it.advance({ next: cursor!, takesBackAfter: -1 });
      expect(await it.store.takenSteps(chainId)).toEqual([]);
      await it.advance();
      expect((await it.store.takenSteps(chainId)).map(({ from }) => from)).toEqual([cursor]);
    });

    test('are bounded in number, and the newest stay', async () => {
      await it.store.reserve(ask(1n));
      await it.advance({ settled: [{ key: aKey({ nonce: 1n }), actualCost: gwei(25) }] });
      for (let i = 0; i < maxTakenSteps; i++) await it.advance();
      const steps = await it.store.takenSteps(chainId);
      expect(blocksOf(steps)).toEqual(Array.from({ length: maxTakenSteps }, (_, i) => i + 2));
      expect(endings(steps)).toEqual([]);
    });

    test('with hundreds of endings are kept whole', async () => {
      const nonces = Array.from({ length: 600 }, (_, i) => BigInt(i));
      await inPortions(nonces, (nonce) => it.store.reserve(ask(nonce, 1)));
      await it.advance({
        settled: nonces.map((nonce) => ({ key: aKey({ nonce }), actualCost: gwei(1) })),
        charges: [loss],
      });
      await it.advance();
      const [step, ...others] = await it.store.takenSteps(chainId);
      expect(step?.ended).toHaveLength(nonces.length);
      expect(step?.charges).toEqual([loss]);
      expect(others.map(({ ended }) => ended)).toEqual([[]]);
    });

    test('are not mixed with those of another chain', async () => {
      await it.advance();
      const other = { ...it.step({ expected: undefined }), chainId: chainId + 1 };
      const next = { blockNumber: 9, blockHash: aHash(9), timestamp: seconds(9) };
      expect(await it.store.advance({ ...other, next })).toMatchObject({ isTaken: true });
      expect(blocksOf(await it.store.takenSteps(chainId))).toEqual([1]);
      expect(blocksOf(await it.store.takenSteps(chainId + 1))).toEqual([9]);
    });

    test('a step with more endings than a turn carries out is one step, also when it is taken back', async () => {
      const many = 2 * itemsPerPart + 30;
      const wide = { threshold: 1_000_000 };
      await inPortions(
        Array.from({ length: many }, (_, nonce) => BigInt(nonce)),
        (nonce) =>
          it.store.reserve({
            ...ask(nonce),
            limits: [aLimit(wide), aSpend(60, wide)],
            holds: [aHold(60, wide)],
          }),
      );
      const live = sorted(await it.store.reservations(chainId));
      await it.advance();
      const common = await it.store.cursor(chainId);
      await it.advance({
        settled: live.map(({ key }) => ({
          key,
          actualCost: gwei(25),
          record: aStepSettlement(1_000 + Number(key.nonce)),
        })),
        charges: [loss],
      });
      expect(await it.store.liveCount(chainId)).toBe(0);
      expect(await it.stands(aSpend(0), loss)).toEqual([
        [25 * many, 0],
        [7, 0],
      ]);
      const steps = await it.store.takenSteps(chainId);
      expect([blocksOf(steps), endings(steps).length]).toEqual([[1, 2], many]);
      await it.replaced('reopen');
      const restored = (await it.store.takenSteps(chainId))[1]!.ended.map(({ reservation }) => reservation);
      await it.advance({ next: common!, takesBackAfter: common!.blockNumber, restored });
      expect(sorted(await it.store.reservations(chainId))).toEqual(live);
      expect(blocksOf(await it.store.takenSteps(chainId))).toEqual([1]);
    });
  });
}

/** As many at once as a slow machine answers before a store calls itself busy. */
async function inPortions<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  for (let start = 0; start < items.length; start += 50)
    await Promise.all(items.slice(start, start + 50).map(work));
}
