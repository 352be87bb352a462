import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { FollowerLedger } from '../../../server/follower/records.js';
import { createRecordIds } from '../../../server/ledger/record-ids.js';
import type { Ending } from '../../../server/ledger/inputs-records.js';
import { aStepDecision } from '../../conformance/step-records.js';
import { chainId, seconds } from '../../conformance/usage-requests.js';
import { aChainConfig, aFollowed, anOperation, aPromise, usedOf, type Followed } from './followed.js';

// What a replay needs to know of endings: how each reservation ended, and its place among the decisions.

let it: Followed;
beforeEach(async () => {
  it = await aFollowed(aChainConfig({ confirmations: 0 }));
});
afterEach(() => it.stop());

type Told = Pick<Ending, 'how' | 'nonce' | 'actualCost'> & { readonly order: number; readonly of: string };

function aLedger(told: Told[]): FollowerLedger {
  return {
    ids: createRecordIds(it.clock),
    organisationOf: () => 'acme',
    ending: ({ organisation, paymasterId }, order, { how, nonce, actualCost }) =>
      void told.push({ how, nonce, actualCost, order, of: `${organisation}/${paymasterId}` }),
  };
}

/** Answers the place of the reservation. */
async function reserve(nonce: bigint, cost: number, validUntil = 1000): Promise<number> {
  const record = aStepDecision((nonce & 0xffffn) | (nonce >> 40n));
  const promise = { validUntil: seconds(validUntil) };
  const answer = await it.usage.reserve(aPromise(cost, { key: { nonce }, promise, record, ordered: true }));
  if (answer.order === undefined) throw new Error('the answer does not name its place');
  return answer.order;
}

test('each ending comes after the reservations before it and before those after it, also one that is taken back', async () => {
  const told: Told[] = [];
  const ledger = aLedger(told);
  const [mined, expiring] = [1n << 64n, 2n << 64n];
  const first = [await reserve(mined, 100), await reserve(expiring, 100, 300)];
  const before = it.chain.height;
  it.chain.mine({ operations: [anOperation(40, { nonce: mined })] });
  it.pass(1);
  await it.create(undefined, ledger).round();
  const second = await reserve(3n << 64n, 100);
  it.chain.time = seconds(400);
  it.clock.advance(400_000);
  await it.create(undefined, ledger).round();
  const third = await reserve(4n << 64n, 100);
  it.chain.reorganise(before);
  it.pass(2);
  await it.create(undefined, ledger).round();
  const fourth = await reserve(5n << 64n, 100);

  const of = 'acme/pm-1';
  expect(told).toEqual([
    { how: 'settled', nonce: mined, actualCost: 40, order: expect.any(Number), of },
    { how: 'released', nonce: expiring, actualCost: undefined, order: expect.any(Number), of },
    { how: 'restored', nonce: expect.any(BigInt), actualCost: undefined, order: expect.any(Number), of },
    { how: 'restored', nonce: expect.any(BigInt), actualCost: undefined, order: expect.any(Number), of },
  ]);
  expect(new Set(told.slice(2).map(({ nonce }) => nonce))).toEqual(new Set([mined, expiring]));
  const [settled, released, ...restored] = told.map(({ order }) => order);
  const orders = [...first, settled, second, released, third, restored[0], fourth];
  expect(orders).toEqual(orders.toSorted((a, b) => Number(a) - Number(b)));
  expect(new Set(orders).size).toBe(orders.length);
  // All five hold again: nothing that was told is wrong.
  expect(await usedOf(it)).toEqual([5, 500]);
});

test('a reservation whose decision was not recorded has none, and nothing is asked without a ledger of inputs', async () => {
  const told: Told[] = [];
  await it.usage.reserve(aPromise(100));
  it.chain.mine({ operations: [anOperation(40)] });
  it.pass(2);
  expect(await it.create(undefined, aLedger(told)).round()).toMatchObject({ settled: 1 });
  expect(told).toEqual([]);

  const { ending: _, ...withoutInputs } = aLedger(told);
  const asked: unknown[] = [];
  const usage = {
    ...it.usage,
    advance: (step: Parameters<typeof it.usage.advance>[0]) => {
      asked.push(step.ordered);
      return it.usage.advance(step);
    },
  };
  await reserve(1n << 64n, 100);
  it.pass(2);
  await it.create(usage, withoutInputs).round();
  expect(asked).toEqual([undefined]);
  expect(await it.usage.liveCount(chainId)).toBe(1);
});
