import { beforeEach, describe, expect, test } from '@jest/globals';
import { chainId, contract, funding, seconds } from '../../conformance/usage-requests.js';
import { silentLogger } from '../../../core/log.js';
import { parseAddress } from '../../../core/units/address.js';
import { ChainFollower } from '../../../server/follower/chain-follower.js';
import { FakeChain, walletOf } from '../../fakes/chain.js';
import { aChainConfig, aFollowed, anOperation, aPromise, otherFunding, type Followed } from './followed.js';

const newerContract = parseAddress(`0x${'9e'.repeat(20)}`);

let it: Followed;
beforeEach(async () => {
  it = await aFollowed();
});

describe('the head', () => {
  test('shows the newest block and the fees, and when they were read', async () => {
    it.pass(1);
    await it.follower.round();
    expect(it.follower.head).toEqual({
      number: it.chain.height,
      timestamp: it.chain.time,
      baseFeePerGas: 7n,
      priorityFeePerGas: 1_500_000_000n,
      observedAt: it.clock.now(),
    });
  });

  test('has no tip when the node suggests none', async () => {
    it.chain.hasPriorityFee = false;
    const follower = it.create();
    await follower.round();
    expect(follower.head?.priorityFeePerGas).toBe(0n);
  });
});

test('a round on a chain that does not answer changes nothing, and the next one catches up', async () => {
  await it.usage.reserve(aPromise(100));
  const before = await it.usage.cursor(chainId);
  it.chain.mine({ operations: [anOperation(40)] });
  it.pass(2);
  it.chain.isDown = true;
  await expect(it.follower.round()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await it.usage.cursor(chainId)).toEqual(before);
  it.chain.isDown = false;
  expect(await it.follower.round()).toMatchObject({ settled: 1 });
});

test('a profile of a layout that this build does not know does not delay the others', async () => {
  const [known] = aChainConfig().profiles;
  const newer = { ...known!, version: '9.0.0', layout: 'newer' as 'vendor-2.x', sponsorship: newerContract };
  it.reconfigure(aChainConfig({ profiles: [newer, known!] }));
  await it.usage.reserve(aPromise(100));
  it.chain.mine({ operations: [anOperation(40)] });
  it.pass(2);
  expect(await it.follower.round()).toMatchObject({ settled: 1 });
  await it.create().observe();
});

test('a node of another chain is not followed', async () => {
  const other = new FakeChain({ chainId: 1, time: seconds(0) });
  other.mineEmpty(50);
  const before = await it.usage.cursor(chainId);
  const follower = new ChainFollower({
    usage: it.usage,
    chainId,
    current: () => ({ config: aChainConfig(), chain: other }),
    platformAccounts: () => [],
    clock: it.clock,
    log: silentLogger,
  });
  const mismatch = { code: 'UNAVAILABLE', details: { reason: 'CHAIN_MISMATCH' } };
  await expect(follower.round()).rejects.toMatchObject(mismatch);
  await expect(follower.ensureAccount({ contract, fundingAddress: otherFunding })).rejects.toMatchObject(
    mismatch,
  );
  expect(await it.usage.cursor(chainId)).toEqual(before);
});

test('nothing may be promised before the first step, which begins at the head and would miss mined operations', async () => {
  const chain = new FakeChain({ chainId: 7, time: seconds(0) });
  chain.mine({ transfers: [[walletOf(contract, funding), 1000n]] });
  const follower = new ChainFollower({
    usage: it.usage,
    chainId: 7,
    current: () => ({ config: aChainConfig({ chainId: 7, confirmations: 0 }), chain }),
    platformAccounts: () => [],
    clock: it.clock,
    log: silentLogger,
  });
  const account = { contract, fundingAddress: funding };
  const unknown = { code: 'UNAVAILABLE', details: { reason: 'DEPOSIT_UNKNOWN' } };
  await expect(follower.ensureAccount(account)).rejects.toMatchObject(unknown);
  expect(await it.usage.accounts(7)).toEqual([]);
  await follower.round();
  await follower.ensureAccount(account);
  expect(await it.usage.accounts(7)).toContainEqual(expect.objectContaining(account));
});
