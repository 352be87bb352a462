import { describe, expect, test } from '@jest/globals';
import { gwei } from '../../../core/units/wei.js';
import type { FollowerStep } from '../../../core/usage/follower-step.js';
import type { ReserveRequest } from '../../../core/usage/reserve-request.js';
import { MemoryRows } from '../../support/memory-rows.js';
import type { Turn } from '../../../core/usage/turn.js';
import { aKey, aLimit, aRequest, chainId, startMs } from '../usage-requests.js';
import { reserved, type Suite } from './suite.js';

/** Places of decisions and steps: repeating them in that order gives the same results. */
export function orderConformance(it: Suite): void {
  describe('order of decisions', () => {
    test('an answer names its place only when that is asked for', async () => {
      expect(await it.store.reserve(aRequest())).toEqual(reserved);
      const { result } = await it.store.peek(aRequest());
      expect(result).toEqual(reserved);
      const step = it.step({ settled: [{ key: aKey(), actualCost: gwei(1) }] });
      expect(await it.store.advance(step)).not.toHaveProperty('orders');
    });

    test('what comes later has a later place, also in the next process', async () => {
      const limits = [aLimit({ threshold: 1 })];
      const ask = (nonce: bigint) => it.store.reserve(aRequest({ key: { nonce }, limits, ordered: true }));
      const first = await ask(0n);
      const refusal = await ask(1n);
      const peeked = await it.store.peek(aRequest({ key: { nonce: 2n }, limits, ordered: true }));
      const step = it.step({ released: [{ key: aKey() }], ordered: true });
      const taken = await it.store.advance(step);
      await it.replaced('reopen');
      const last = await ask(3n);
      expect([first, refusal, peeked.result, last].map(({ outcome }) => outcome)).toEqual([
        'reserved',
        'limit',
        'limit',
        'reserved',
      ]);
      const orders = [
        first.order,
        refusal.order,
        peeked.result.order,
        taken.isTaken ? taken.orders?.ended[0] : undefined,
        last.order,
      ];
      expect(orders).toEqual(orders.toSorted((a, b) => Number(a) - Number(b)));
      expect(orders.every(Number.isSafeInteger)).toBe(true);
      // Nothing changed between the refusal and the peek, and they may share a place.
      expect(new Set(orders).size).toBeGreaterThanOrEqual(4);
    });

    test('each ending of a step has a place, also of a step that needs several calls', async () => {
      const nonces = Array.from({ length: 300 }, (_, i) => BigInt(i));
      await Promise.all(nonces.map((nonce) => it.store.reserve(aRequest({ key: { nonce } }))));
      const before = await it.store.reserve(aRequest({ key: { nonce: 1_000n }, ordered: true }));
      const released = nonces.map((nonce) => ({ key: aKey({ nonce }) }));
      const step = await it.store.advance(it.step({ released, ordered: true }));
      const after = await it.store.reserve(aRequest({ key: { nonce: 1_001n }, ordered: true }));
      if (!step.isTaken || step.orders === undefined) throw new Error('the step has no places');
      expect(step.ended).toHaveLength(300);
      expect(step.orders.ended).toHaveLength(300);
      for (const order of step.orders.ended) {
        expect(order).toBeGreaterThan(before.order!);
        expect(order).toBeLessThan(after.order!);
      }
    });

    test('decisions at the same time, repeated in their order, get the same answers', async () => {
      type Event = {
        readonly order: number;
        readonly repeat: (turn: Turn) => unknown;
        readonly answer: unknown;
      };
      const events: Event[] = [];
      const limits = [
        aLimit({ counter: 'count', threshold: 40 }),
        aLimit({ counter: 'gas', unit: 'NATIVE_ASSET', threshold: 100, cost: 1 }),
      ];
      const request = (n: number): ReserveRequest =>
        aRequest({
          key: { nonce: BigInt(n % 60) },
          // Costs between 1 and 13, so that a cheaper one may pass after a dearer one was refused.
          limits: limits.map((limit) =>
            limit.unit === 'COUNT' ? limit : { ...limit, cost: 1 + ((n * 7) % 13) },
          ),
          ordered: true,
        });
      const ask = async (n: number): Promise<void> => {
        const answer = await it.store.reserve(request(n));
        events.push({
          order: answer.order!,
          repeat: (turn) => turn.reserve(request(n), startMs),
          answer,
        });
      };
      const peek = async (n: number): Promise<void> => {
        const { result: answer } = await it.store.peek(request(n));
        events.push({
          order: answer.order!,
          repeat: (turn) => turn.peek(request(n), startMs).result,
          answer,
        });
      };
      const steps: FollowerStep[] = [];
      const settle = async (n: number): Promise<void> => {
        const ending = [n, n + 1, n + 2].map((one) => ({ key: aKey({ nonce: BigInt(one % 60) }) }));
        const settled = ending.slice(0, 2).map((one) => ({ ...one, actualCost: gwei(1 + (n % 5)) }));
        const expected = steps.at(-1)?.next;
        const step = { ...it.step({ settled, released: ending.slice(2), ordered: true }), expected };
        steps.push({ ...step, next: { ...step.next, blockNumber: steps.length + 1 } });
        const whole = steps.at(-1)!;
        const answer = await it.store.advance(whole);
        if (!answer.isTaken) throw new Error('a step of the only follower was not taken');
        events.push({
          order: answer.orders!.restored,
          repeat: (turn) => {
            const again = turn.advance({ ...whole, expected: turn.cursor });
            return again.isTaken && again.ended.map(({ key }) => key.nonce);
          },
          answer: answer.ended.map(({ key }) => key.nonce),
        });
      };
      for (let round = 0; round < 12; round++)
        await Promise.all([
          ...Array.from({ length: 20 }, (_, i) => ask(round * 20 + i)),
          settle(round * 5),
          ...Array.from({ length: 5 }, (_, i) => peek(round * 20 + i * 3)),
        ]);

      const rows = new MemoryRows(chainId);
      const answers = events
        .toSorted((a, b) => a.order - b.order)
        .map(({ repeat, answer }) => [withoutOrder(rows.turn(repeat)), withoutOrder(answer)]);
      expect(answers.map(([again]) => again)).toEqual(answers.map(([, was]) => was));
      const outcomes = answers.map(([again]) => JSON.stringify(again));
      expect(outcomes.filter((text) => text.includes('limit')).length).toBeGreaterThan(20);
      expect(outcomes.filter((text) => text.includes('reserved')).length).toBeGreaterThan(20);
    });
  });
}

function withoutOrder(answer: unknown): unknown {
  return JSON.parse(
    JSON.stringify(answer, (name, value: unknown) =>
      name === 'order' ? undefined : typeof value === 'bigint' ? Number(value) : value,
    ),
  );
}
