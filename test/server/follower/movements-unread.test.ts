import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { depositedTopic } from '../../../core/entry-point/deposit-event.js';
import { funding, seconds } from '../../conformance/usage-requests.js';
import { aPromise, gweiInWei, usedOf } from './followed.js';
import {
  refusesBalances,
  afterMonth,
  aRecorded,
  deposit,
  lines,
  nothing,
  paidIn,
  takenOut,
  wallet,
  type Recorded,
} from './movements.js';

let it: Recorded;
beforeEach(async () => {
  it = await aRecorded();
});
afterEach(() => it.stop());

describe('a node that refuses every query for deposits', () => {
  test('stops nothing: promises settle, those that expire are released, and the statement names the blocks', async () => {
    const follower = it.recording();
    await follower.round();
    const before = it.chain.height - 2;
    it.chain.refuses = refusesBalances;
    it.chain.mine({ ...paidIn(9n), operations: [await it.promised(100, 40, 45n * gweiInWei)] });
    await it.usage.reserve(aPromise(10, { key: { nonce: 99n }, promise: { validUntil: seconds(100) } }));
    it.pass(2);
    expect(await follower.round()).toMatchObject({ settled: 1 });
    it.pass(10);
    expect(await follower.round()).toMatchObject({ released: 1 });
    expect(await usedOf(it)).toEqual([1, 40]);
    it.chain.mine({ time: afterMonth });
    it.pass(2);
    await follower.round();
    const found = await it.statement(deposit);
    const { closing } = found;
    expect(found.unreadBlocks).toEqual([{ fromBlock: before + 1, toBlock: closing?.blockNumber }]);
    expect(lines(found)).toEqual({ ...nothing, mined: 40n * gweiInWei, others: 9n });
    expect(lines(await it.statement(wallet)).others).toBe(-45n * gweiInWei);
  });

  test('is asked again: once it answers, everything is in its line, to the wei', async () => {
    const follower = it.recording();
    await follower.round();
    it.chain.refuses = refusesBalances;
    const unreported = await it.promised(100, 40, 60n * gweiInWei);
    it.chain.mine({ ...paidIn(9n), operations: [await it.promised(100, 40, 45n * gweiInWei)] });
    it.chain.mine({ operations: [{ ...unreported, payer: { wallet: funding, charge: 60n * gweiInWei } }] });
    it.chain.mine(takenOut(3n));
    for (let round = 0; round < 30; round++) {
      it.pass(2);
      await follower.round();
    }
    it.chain.refuses = () => false;
    for (let round = 0; round < 30; round++) {
      it.pass(2);
      await follower.round();
    }
    it.chain.mine({ time: afterMonth });
    it.pass(2);
    await follower.round();
    const mined = 80n * gweiInWei;
    expect(lines(await it.statement(deposit))).toEqual({ ...nothing, deposits: 9n, withdrawals: 3n, mined });
    expect(lines(await it.statement(wallet))).toEqual({ ...nothing, mined, burnt: 25n * gweiInWei });
    expect((await it.statement(deposit)).unreadBlocks).toEqual([]);
  });

  test('is asked ever more rarely', async () => {
    const follower = it.recording();
    await follower.round();
    let asked = 0;
    it.chain.refuses = (one) => {
      if (!refusesBalances(one)) return false;
      asked += 1;
      return true;
    };
    const inTenMinutes = async (): Promise<number> => {
      asked = 0;
      for (let round = 0; round < 50; round++) {
        it.pass(1);
        await follower.round();
      }
      return asked;
    };
    await inTenMinutes();
    expect(await inTenMinutes()).toBeLessThan(50);
  });

  test('and never answers them at all holds up a step for a moment only', async () => {
    const follower = it.recording(50);
    await follower.round();
    const { logs } = it.chain;
    it.chain.logs = (filter) =>
      refusesBalances({ logs: filter }) ? new Promise(() => {}) : logs.call(it.chain, filter);
    it.chain.mine({ operations: [await it.promised(100, 40)] });
    it.pass(2);
    expect(await follower.round()).toMatchObject({ settled: 1 });
  });

  test('a reorganisation of the blocks that wait leaves nothing of the removed ones', async () => {
    const follower = it.recording();
    await follower.round();
    const { height } = it.chain;
    it.chain.refuses = refusesBalances;
    it.chain.mine(paidIn(9n));
    it.pass(4);
    await follower.round();
    it.chain.reorganise(height);
    it.chain.mine(paidIn(2n));
    it.pass(8);
    await follower.round();
    await follower.round();
    it.chain.refuses = () => false;
    for (let round = 0; round < 10; round++) {
      it.pass(2);
      await follower.round();
    }
    it.chain.mine({ time: afterMonth });
    it.pass(2);
    await follower.round();
    expect(lines(await it.statement(deposit))).toEqual({ ...nothing, deposits: 2n });
  });
});

describe('movements that a node does not show', () => {
  test('blocks whose events no node shows are named, and what they changed is left over', async () => {
    const follower = it.recording();
    await follower.round();
    const hidden = it.chain.mine(paidIn(9n)).number;
    it.chain.refuses = (asked) =>
      'logs' in asked &&
      'fromBlock' in asked.logs &&
      asked.logs.fromBlock <= hidden &&
      asked.logs.toBlock >= hidden &&
      [asked.logs.topics?.[0]].flat().includes(depositedTopic);
    it.pass(3);
    await follower.round();
    it.chain.mine({ time: afterMonth });
    it.pass(2);
    await follower.round();
    const found = await it.statement(deposit);
    expect(found.unreadBlocks).toEqual([{ fromBlock: hidden, toBlock: hidden }]);
    expect(lines(found)).toEqual({ ...nothing, others: 9n });
  });

  test('a node that has no old state leaves the amount of a deposit open, and invents none', async () => {
    const follower = it.recording();
    await follower.round();
    const { hash } = it.chain.mine(paidIn(9n));
    const { words } = it.chain;
    it.chain.words = async (calls, block) => {
      if (typeof block === 'object' && block.hash === hash)
        return words.call(it.chain, calls, { hash: '0x00' });
      return words.call(it.chain, calls, block);
    };
    it.pass(3);
    await follower.round();
    it.chain.mine({ time: afterMonth });
    it.pass(2);
    await follower.round();
    expect(lines(await it.statement(deposit))).toEqual({ ...nothing, others: 9n, unreadDeposits: 1 });
    expect((await it.statement(deposit)).transfers).toMatchObject([
      { kind: 'deposit', amountWei: undefined },
    ]);
  });

  test('deposits in hundreds of blocks take several steps, and all of them count', async () => {
    const follower = it.recording();
    await follower.round();
    for (let i = 0; i < 120; i++) it.chain.mine(paidIn(1n));
    it.pass(2);
    for (let i = 0; i < 4; i++) await follower.round();
    it.chain.mine({ time: afterMonth });
    it.pass(2);
    await follower.round();
    expect(lines(await it.statement(deposit))).toEqual({ ...nothing, deposits: 120n });
  });
});
