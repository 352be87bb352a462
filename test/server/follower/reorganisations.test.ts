import { beforeEach, describe, expect, test } from '@jest/globals';
import { DomainError } from '../../../core/errors.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { createRecordIds } from '../../../server/ledger/record-ids.js';
import {
  aDigest,
  chainId,
  contract,
  entryPoint,
  funding,
  seconds,
} from '../../conformance/usage-requests.js';
import { aStepDecision } from '../../conformance/step-records.js';
import { depositOf, walletOf } from '../../fakes/chain.js';
import {
  accountsOf,
  aChainConfig,
  aFollowed,
  anOperation,
  aPromise,
  gweiInWei,
  lossesOf,
  usedOf,
  type Followed,
} from './followed.js';

const reserved = { outcome: 'reserved' };

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

  test('one below the settled block undoes the counted amounts, and a more expensive operation counts in full', async () => {
    await it.usage.reserve(aPromise(100));
    const before = it.chain.height;
    it.chain.mine({ operations: [anOperation(40)] });
    it.pass(2);
    await it.follower.round();
    expect(await usedOf(it)).toEqual([1, 40]);
    it.chain.reorganise(before);
    it.pass(2);
    it.chain.mine({ operations: [anOperation(95)] });
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ restored: 1, settled: 0, isComplete: false });
    expect(await usedOf(it)).toEqual([1, 100]);
    expect(await it.follower.round()).toMatchObject({ settled: 1, unattributed: 0 });
    expect(await usedOf(it)).toEqual([1, 95]);
    expect(it.lines).toContainEqual({
      level: 'error',
      message: 'chain was reorganised or replaced below the settled block',
    });
  });

  test('operations settled in removed blocks are promised again until they are mined again or expired', async () => {
    await it.usage.reserve(aPromise(100));
    const before = it.chain.height;
    it.chain.mine({ operations: [anOperation(40)] });
    it.pass(2);
    await it.follower.round();
    it.chain.reorganise(before);
    it.pass(3);
    await it.follower.round();
    await it.follower.round();
    expect(await accountsOf(it)).toEqual([
      [1000, 100],
      [1000, 100],
    ]);
    it.chain.mine({ time: seconds(1001) });
    it.chain.mineEmpty(2);
    expect(await it.follower.round()).toMatchObject({ released: 1 });
    expect(await usedOf(it)).toEqual([0, 0]);
  });

  test('promises released in removed blocks are promised again, whatever was promised to others since', async () => {
    const [count, spend] = aPromise(100).limits;
    const limits = [{ ...count!, threshold: 1 }, spend!];
    await it.usage.reserve(aPromise(100, { limits, promise: { validUntil: seconds(300) } }));
    const before = it.chain.height;
    it.chain.mine({ time: seconds(301) });
    it.chain.mineEmpty(2);
    expect(await it.follower.round()).toMatchObject({ released: 1 });
    expect(await it.usage.reserve(aPromise(70, { key: { nonce: 1n }, limits }))).toEqual(reserved);
    it.chain.reorganise(before);
    it.chain.mine({ operations: [anOperation(60)] });
    it.pass(3);
    expect(await it.follower.round()).toMatchObject({ restored: 1 });
    expect(await it.follower.round()).toMatchObject({ settled: 1, unattributed: 0 });
    // The counter exceeds the threshold, as the chain's costs do, and the limit refuses.
    expect(await usedOf(it)).toEqual([2, 160]);
    expect(await it.usage.reserve(aPromise(1, { key: { nonce: 2n }, limits }))).toMatchObject({
      outcome: 'limit',
      used: 2,
    });
  });

  test('a promise that was raised during a step is restored at the raised amount', async () => {
    const again = { digest: aDigest(2), prefundWei: 250n * gweiInWei };
    await it.usage.reserve(aPromise(100));
    // Between the follower's read and its step a more expensive operation of the nonce is promised.
    const { advance } = it.usage;
    const follower = it.create({
      ...it.usage,
      advance: async (step) => {
        if (step.settled.length > 0) await it.usage.reserve(aPromise(250, { promise: again }));
        return advance(step);
      },
    });
    await follower.round();
    const before = it.chain.height;
    it.chain.mine({ operations: [anOperation(40)] });
    it.pass(2);
    expect(await follower.round()).toMatchObject({ settled: 1 });
    it.chain.reorganise(before);
    it.pass(4);
    expect(await follower.round()).toMatchObject({ restored: 1 });
    const [live] = await it.usage.reservations(chainId);
    expect(live?.promises.map(({ digest }) => digest)).toContain(again.digest);
    it.chain.mine({ operations: [anOperation(240)] });
    it.pass(2);
    expect(await follower.round()).toMatchObject({ settled: 1, unattributed: 0 });
    expect((await usedOf(it))[1]).toBeGreaterThanOrEqual(240);
  });

  test('a step at the same block whose outcome is not known is not undone in part', async () => {
    it = await aFollowed(aChainConfig({ confirmations: 0 }));
    await it.usage.reserve(aPromise(100, { promise: { validUntil: seconds(300) } }));
    let isAnswerLost = false;
    const { advance } = it.usage;
    const follower = it.create({
      ...it.usage,
      advance: async (step) => {
        const result = await advance(step);
        if (isAnswerLost) throw new DomainError('UNAVAILABLE', 'the answer was lost');
        return result;
      },
    });
    const before = it.chain.height;
    it.pass(1);
    await follower.round();
    it.chain.time = seconds(400);
    it.clock.advance(400_000);
    isAnswerLost = true;
    await expect(follower.round()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(await it.usage.liveCount(chainId)).toBe(0);
    isAnswerLost = false;
    it.chain.reorganise(before);
    it.chain.mine({ operations: [anOperation(60)] });
    it.pass(1);
    await follower.round();
    await follower.round();
    // The data no longer contain the promise. That is not a reason to assume that the key has leaked.
    expect(await it.usage.suspended(chainId)).toEqual([]);
  });

  test('a loss in removed blocks does not count until it is mined again', async () => {
    await it.usage.reserve(aPromise(100, { promise: { mode: 'ERC20' } }));
    const before = it.chain.height;
    it.chain.mine({ operations: [anOperation(40)] });
    it.pass(2);
    await it.follower.round();
    expect(await lossesOf(it)).toEqual([100, 100]);
    it.chain.reorganise(before);
    it.pass(3);
    await it.follower.round();
    expect(await lossesOf(it)).toEqual([0, 0]);
    it.chain.mine({ operations: [anOperation(70)] });
    it.pass(2);
    await it.follower.round();
    expect(await lossesOf(it)).toEqual([100, 100]);
  });

  test('after a restart removed blocks are taken back all the same', async () => {
    await it.usage.reserve(aPromise(100));
    const before = it.chain.height;
    it.chain.mine({ operations: [anOperation(40)] });
    it.pass(2);
    await it.follower.round();
    it.chain.reorganise(before);
    it.pass(2);
    it.chain.mine({ operations: [anOperation(95)] });
    it.pass(2);
    const restarted = it.create();
    expect(await restarted.round()).toMatchObject({ restored: 1, settled: 0 });
    expect(await usedOf(it)).toEqual([1, 100]);
    expect(await restarted.round()).toMatchObject({ settled: 1, unattributed: 0 });
    expect(await usedOf(it)).toEqual([1, 95]);
    expect(await it.usage.suspended(chainId)).toEqual([]);
  });

  test('a follower that takes over takes back what others settled, also at the same block, and losses', async () => {
    it = await aFollowed(aChainConfig({ confirmations: 0 }));
    // Each with another nonce key.
    const [inTokens, sponsored] = [1n << 64n, 2n << 64n];
    await it.usage.reserve(aPromise(100, { promise: { validUntil: seconds(300) } }));
    await it.usage.reserve(aPromise(100, { key: { nonce: inTokens }, promise: { mode: 'ERC20' } }));
    await it.usage.reserve(aPromise(100, { key: { nonce: sponsored } }));
    const before = it.chain.height;
    const operations = [anOperation(40, { nonce: inTokens }), anOperation(50, { nonce: sponsored })];
    it.chain.mine({ operations });
    it.pass(1);
    expect(await it.follower.round()).toMatchObject({ settled: 2 });
    it.chain.time = seconds(400);
    it.clock.advance(400_000);
    expect(await it.create().round()).toMatchObject({ released: 1 });
    expect(await usedOf(it)).toEqual([1, 50]);
    expect(await lossesOf(it)).toEqual([100, 100]);
    it.chain.reorganise(before);
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ restored: 3 });
    expect(await lossesOf(it)).toEqual([0, 0]);
    expect(await usedOf(it)).toEqual([2, 200]);
  });

  test('a follower that takes over records that settlements of others are taken back', async () => {
    const ledger = { ids: createRecordIds(it.clock), organisationOf: () => 'acme' };
    const added: unknown[] = [];
    const usage: UsageStore = {
      ...it.usage,
      advance: async (step) => {
        const result = await it.usage.advance(step);
        for (const { reservation, record } of step.records ?? [])
          if (reservation !== undefined) added.push([reservation, record.kind]);
        for (const { record } of step.settled)
          if (record !== undefined) added.push([aStepDecision(1).id, record.kind]);
        return result;
      },
    };
    await it.usage.reserve(aPromise(100, { record: aStepDecision(1) }));
    const before = it.chain.height;
    it.chain.mine({ operations: [anOperation(40)] });
    it.pass(2);
    await it.create(usage, ledger).round();
    it.chain.reorganise(before);
    it.pass(2);
    it.chain.mine({ operations: [anOperation(95)] });
    it.pass(2);
    const other = it.create(usage, ledger);
    await other.round();
    await other.round();
    expect(added).toEqual([
      [aStepDecision(1).id, 'settlement'],
      [aStepDecision(1).id, 'reversal'],
      [aStepDecision(1).id, 'settlement'],
    ]);
  });

  test('without the steps removed blocks are unknown: counted amounts stay, and no operation is strange', async () => {
    await it.usage.reserve(aPromise(100));
    const before = it.chain.height;
    it.chain.mine({ operations: [anOperation(40)] });
    it.pass(2);
    await it.follower.round();
    it.chain.reorganise(before);
    it.pass(2);
    it.chain.mine({ operations: [anOperation(95)] });
    it.pass(2);
    const restarted = it.createForgetful();
    expect(await restarted.round()).toMatchObject({ restored: 0, settled: 0, unattributed: 0 });
    expect(await usedOf(it)).toEqual([1, 40]);
    expect(await it.usage.suspended(chainId)).toEqual([]);
  });

  test('an operation that another follower has settled meanwhile is not strange when it is seen again', async () => {
    await it.usage.reserve(aPromise(100));
    await it.usage.reserve(aPromise(100, { key: { nonce: 1n } }));
    const before = it.chain.height;
    it.chain.mine({ operations: [anOperation(40)] });
    it.pass(2);
    await it.follower.round();
    const other = it.create();
    it.chain.mine({ operations: [anOperation(30, { nonce: 1n })] });
    it.pass(2);
    expect(await other.round()).toMatchObject({ settled: 1 });
    it.chain.reorganise(before);
    it.chain.mine({ operations: [anOperation(40)] });
    it.chain.mine({ operations: [anOperation(30, { nonce: 1n })] });
    it.pass(4);
    for (const follower of [it.follower, it.create()]) {
      while (!(await follower.round()).isComplete);
      expect(await usedOf(it)).toEqual([2, 70]);
    }
    expect(await it.usage.suspended(chainId)).toEqual([]);
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

  test('another chain in its place is followed from there, and promises stay', async () => {
    await it.usage.reserve(aPromise(100, { promise: { validUntil: seconds(5000) } }));
    it.pass(100);
    await it.follower.round();
    it.chain.replace(seconds(3000));
    await it.follower.round();
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
});
