import { beforeEach, describe, expect, test } from '@jest/globals';
import { chainId, contract, entryPoint, funding, seconds } from '../conformance/usage-requests.js';
import { depositOf, walletOf } from '../fakes/chain.js';
import {
  accountsOf,
  aFollowed,
  anOperation,
  aPromise,
  gweiInWei,
  usedOf,
  type Followed,
} from './followed.js';

let it: Followed;
beforeEach(async () => {
  it = await aFollowed();
});

describe('reorganisations', () => {
  test('one above the settled block changes nothing, and the new blocks count', async () => {
    await it.usage.reserve(aPromise(100));
    const before = it.chain.height;
    it.chain.mine({ operations: [anOperation(90)] });
    await it.follower.round();
    it.chain.reorganise(before);
    it.chain.mine({ operations: [anOperation(40)] });
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1 });
    expect(await usedOf(it)).toEqual([1, 40]);
  });

  test('one below the settled block keeps what was counted, and counts an operation that is mined again once', async () => {
    await it.usage.reserve(aPromise(100));
    const before = it.chain.height;
    it.chain.mine({ operations: [anOperation(40)] });
    it.pass(2);
    await it.follower.round();
    // Its account asks again before the operation is mined on the other branch.
    await it.usage.reserve(aPromise(100, { promise: { validUntil: seconds(1000) } }));
    it.chain.reorganise(before);
    it.pass(2);
    it.chain.mine({ operations: [anOperation(45)] });
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 0 });
    expect(await usedOf(it)).toEqual([2, 140]);
    it.chain.mine({ time: seconds(1001) });
    it.chain.mineEmpty(2);
    expect(await it.follower.round()).toMatchObject({ released: 1 });
    expect(await usedOf(it)).toEqual([1, 40]);
  });

  test('a settled operation whose block is gone keeps its need off the balance until it is mined again or expired', async () => {
    await it.usage.reserve(aPromise(100, { promise: { validUntil: seconds(1000) } }));
    const before = it.chain.height;
    it.chain.mine({ operations: [anOperation(40)] });
    it.pass(2);
    await it.follower.round();
    it.chain.reorganise(before);
    it.pass(3);
    await it.follower.round();
    expect(await accountsOf(it)).toEqual([
      [900, 0],
      [900, 0],
    ]);
    it.chain.mine({ operations: [anOperation(45)] });
    it.pass(2);
    await it.follower.round();
    expect(await accountsOf(it)).toEqual([
      [955, 0],
      [955, 0],
    ]);
  });

  test('a node that lags behind on the same chain is waited for', async () => {
    it.pass(5);
    await it.follower.round();
    const cursor = await it.usage.cursor(chainId);
    it.chain.shown = it.chain.height - 4;
    await it.follower.round();
    const restarted = it.create();
    await restarted.round();
    expect(await it.usage.cursor(chainId)).toEqual(cursor);
    it.chain.shown = undefined;
    it.pass(1);
    await it.follower.round();
    expect((await it.usage.cursor(chainId))?.blockNumber).toBe(it.chain.height - 2);
  });

  test('another chain in its place is followed from there, and what was promised stays promised', async () => {
    await it.usage.reserve(aPromise(100, { promise: { validUntil: seconds(5000) } }));
    it.pass(100);
    await it.follower.round();
    it.chain.replace(seconds(3000));
    await it.follower.round();
    expect((await it.usage.cursor(chainId))?.blockNumber).toBe(0);
    expect(await accountsOf(it)).toEqual([
      [0, 100],
      [0, 100],
    ]);
    it.chain.mine({
      transfers: [
        [depositOf(entryPoint, contract), 1000n * gweiInWei],
        [walletOf(contract, funding), 1000n * gweiInWei],
      ],
      operations: [anOperation(30)],
    });
    it.chain.mineEmpty(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1 });
    expect(await usedOf(it)).toEqual([1, 30]);
  });

  test('a shorter chain that may still catch up is waited for, but not for long', async () => {
    it.pass(100);
    await it.follower.round();
    const before = await it.usage.cursor(chainId);
    it.chain.replace(it.chain.time - 100);
    const follower = it.create();
    await follower.round();
    expect(await it.usage.cursor(chainId)).toEqual(before);
    it.clock.advance(15_000);
    await follower.round();
    expect((await it.usage.cursor(chainId))?.blockNumber).toBe(0);
  });

  test('a chain that is back at a block of long ago is followed from there at once', async () => {
    it.pass(5);
    await it.follower.round();
    it.pass(100);
    await it.create().round();
    it.chain.reorganise(6);
    await it.create().round();
    expect((await it.usage.cursor(chainId))?.blockNumber).toBe(4);
  });
});
