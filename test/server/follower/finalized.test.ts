import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import type { FollowingTrouble } from '../../../core/reports/serving-reports.js';
import { createFollower } from '../../../server/follower/follower.js';
import { createInstruments } from '../../../server/ops/instruments.js';
import { chainId, contract, entryPoint, funding, seconds } from '../../conformance/usage-requests.js';
import { depositOf, walletOf } from '../../fakes/chain.js';
import {
  accountsOf,
  aChainConfig,
  aFollowed,
  anOperation,
  aPromise,
  gweiInWei,
  otherFunding,
  usedOf,
  type Followed,
} from './followed.js';

const final = aChainConfig({ confirmations: 'finalized' });

let it: Followed;
beforeEach(async () => {
  it = await aFollowed(final);
});
afterEach(() => it.stop());

test('an operation settles when its block is final, and not before, however many blocks follow it', async () => {
  await it.usage.reserve(aPromise(100));
  it.chain.final = it.chain.height;
  it.chain.mine({ operations: [anOperation(40)] });
  it.pass(200);
  expect(await it.follower.round()).toMatchObject({ settled: 0 });
  expect(await usedOf(it)).toEqual([1, 100]);
  it.chain.final += 1;
  expect(await it.follower.round()).toMatchObject({ settled: 1 });
  expect(await usedOf(it)).toEqual([1, 40]);
});

test('a reorganisation of any depth above the final block takes nothing back', async () => {
  await it.usage.reserve(aPromise(100));
  const before = it.chain.height;
  it.chain.final = before;
  it.chain.mine({ operations: [anOperation(40)] });
  it.pass(100);
  await it.follower.round();
  it.chain.reorganise(before);
  it.chain.mine({ operations: [anOperation(90)] });
  it.pass(101);
  expect(await it.follower.round()).toMatchObject({ restored: 0, settled: 0 });
  it.chain.final = it.chain.height;
  expect(await it.follower.round()).toMatchObject({ settled: 1 });
  expect(await usedOf(it)).toEqual([1, 90]);
  expect(it.lines).toEqual([]);
});

test('a promise is released by the time of the final block: neither the head nor a pending block counts', async () => {
  await it.usage.reserve(aPromise(100, { promise: { validUntil: seconds(500) } }));
  it.clock.advance(9_000_000);
  it.chain.time = seconds(9_000);
  expect(await it.follower.round()).toMatchObject({ released: 0 });
  it.chain.final = it.chain.height;
  it.chain.mine({ time: seconds(9_000) });
  expect(await it.follower.round()).toMatchObject({ released: 0 });
  it.chain.final += 1;
  expect(await it.follower.round()).toMatchObject({ released: 1 });
});

describe('a node that is behind', () => {
  test('in what it calls final changes nothing that is settled', async () => {
    await it.usage.reserve(aPromise(100));
    it.chain.mine({ operations: [anOperation(40)] });
    expect(await it.follower.round()).toMatchObject({ settled: 1 });
    const cursor = await it.usage.cursor(chainId);
    it.chain.final = it.chain.height - 3;
    it.pass(1);
    await it.follower.round();
    expect(await it.usage.cursor(chainId)).toEqual(cursor);
    expect(await usedOf(it)).toEqual([1, 40]);
  });

  test('in its head, below the final block that another has shown, settles nothing', async () => {
    await it.usage.reserve(aPromise(100));
    const before = it.chain.height;
    it.chain.mine({ operations: [anOperation(40)] });
    it.chain.final = it.chain.height;
    it.chain.shown = before;
    expect(await it.follower.round()).toMatchObject({ settled: 0, waitsAt: { blockNumber: before } });
    await expect(it.follower.ensureAccount({ contract, fundingAddress: otherFunding })).rejects.toMatchObject(
      { details: { reason: 'DEPOSIT_UNKNOWN' } },
    );
    it.chain.shown = undefined;
    expect(await it.follower.round()).toMatchObject({ settled: 1 });
  });

  test('in its head cannot undo a withdrawal that was seen', async () => {
    it.chain.final = it.chain.height;
    it.chain.mine({ transfers: [[walletOf(contract, funding), -900n * gweiInWei]] });
    await it.follower.round();
    expect((await accountsOf(it))[1]).toEqual([100, 0]);
    it.chain.shown = it.chain.height - 1;
    it.clock.advance(61_000);
    await it.follower.round();
    expect((await accountsOf(it))[1]).toEqual([100, 0]);
  });
});

test('a withdrawal at the head counts at once, a deposit when it is final', async () => {
  it.chain.final = it.chain.height;
  const account = depositOf(entryPoint, contract);
  it.chain.mine({ transfers: [[account, 500n * gweiInWei]] });
  await it.follower.round();
  expect((await accountsOf(it))[0]).toEqual([1_000, 0]);
  it.chain.mine({ transfers: [[account, -1_400n * gweiInWei]] });
  await it.follower.round();
  expect((await accountsOf(it))[0]).toEqual([100, 0]);
  it.chain.final = it.chain.height - 1;
  it.chain.mine({ transfers: [[account, 1_400n * gweiInWei]] });
  await it.follower.round();
  expect((await accountsOf(it))[0]).toEqual([1_500, 0]);
});

test('a node that names no final block settles nothing, still shows its head, and is reported', async () => {
  await it.usage.reserve(aPromise(100));
  it.chain.mine({ operations: [anOperation(40)] });
  it.pass(500);
  it.chain.final = 'unknown';
  await expect(it.follower.round()).rejects.toMatchObject({ details: { reason: 'FINALITY_UNKNOWN' } });
  await it.follower.observe();
  expect(it.follower.head?.number).toBe(it.chain.height);
  expect(await usedOf(it)).toEqual([1, 100]);

  const told: FollowingTrouble[] = [];
  const follower = createFollower({
    usage: it.usage,
    chains: { get: () => it.chain },
    chainConfigs: () => [final],
    platformAccounts: () => [],
    clock: it.clock,
    log: silentLogger,
    instruments: createInstruments(noMetrics),
    pollMs: 1,
    onFollowing: (_chainId, trouble) => trouble !== undefined && told.push(trouble),
  });
  follower.start();
  // No clock is advanced: a chain that merely fails is reported after five minutes.
  while (told.length === 0) await new Promise(setImmediate);
  await follower.stop();
  expect(new Set(told)).toEqual(new Set(['NoFinality']));
});

test('a Chain that changes from a number to final blocks goes on where it was', async () => {
  it.reconfigure(aChainConfig({ confirmations: 2 }));
  await it.usage.reserve(aPromise(100));
  it.chain.mine({ operations: [anOperation(40)] });
  it.pass(2);
  await it.follower.round();
  expect(await usedOf(it)).toEqual([1, 40]);
  it.chain.final = it.chain.height - 60;
  it.reconfigure(final);
  it.chain.final = 1;
  it.pass(1);
  expect(await it.follower.round()).toMatchObject({ restored: 0, unattributed: 0 });
  it.chain.final = it.chain.height;
  expect(await it.follower.round()).toMatchObject({ settled: 0, unattributed: 0 });
  expect(await usedOf(it)).toEqual([1, 40]);
});
