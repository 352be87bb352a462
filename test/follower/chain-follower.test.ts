import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  aHash,
  aKey,
  anAddress,
  chainId,
  contract,
  entryPoint,
  funding,
  seconds,
} from '../conformance/usage-requests.js';
import { silentLogger } from '../../core/log.js';
import { ChainFollower } from '../../server/follower/chain-follower.js';
import { depositOf, FakeChain, walletOf } from '../fakes/chain.js';
import {
  accountsOf,
  aChainConfig,
  aFollowed,
  anOperation,
  aPromise,
  chargeTopic,
  gweiInWei,
  otherFunding,
  usedOf,
  type Followed,
} from './followed.js';

let it: Followed;
beforeEach(async () => {
  it = await aFollowed();
});
afterEach(() => it.stop());

const reserved = { outcome: 'reserved' };

/** The clock and the chain move on together. */
function pass(blocks: number): void {
  it.chain.mineEmpty(blocks);
  it.clock.advance(blocks * 12_000);
}

describe('settling', () => {
  test('a mined operation settles to what it cost, when it has enough confirmations and not before', async () => {
    expect(await it.usage.reserve(aPromise(100))).toEqual(reserved);
    it.chain.mine({ operations: [anOperation(40)] });
    await it.follower.round();
    pass(1);
    await it.follower.round();
    expect(await usedOf(it)).toEqual([1, 100]);
    pass(1);
    expect(await it.follower.round()).toMatchObject({ settled: 1, released: 0 });
    expect(await usedOf(it)).toEqual([1, 40]);
    expect(await accountsOf(it)).toEqual([
      [960, 0],
      [960, 0],
    ]);
    expect(await it.usage.reservations(chainId)).toEqual([]);
  });

  test('an operation that was mined and reverted counts like any other', async () => {
    await it.usage.reserve(aPromise(100));
    it.chain.mine({ operations: [anOperation(40, { success: false })] });
    pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1 });
    expect(await usedOf(it)).toEqual([1, 40]);
  });

  test('a cost is rounded up to whole gwei', async () => {
    await it.usage.reserve(aPromise(100));
    it.chain.mine({ operations: [anOperation(0, { cost: 39n * gweiInWei + 1n })] });
    pass(2);
    await it.follower.round();
    expect(await usedOf(it)).toEqual([1, 40]);
  });

  test.each([
    { name: 'of another contract', other: { contract: anAddress(0xc1) } },
    { name: 'of another sender', other: { sender: anAddress(0xa1) } },
    { name: 'of another nonce', other: { nonce: 1n << 64n } },
    { name: 'in another EntryPoint', other: { entryPoint: anAddress(0xe1) } },
  ])('an operation $name settles nothing', async ({ other }) => {
    await it.usage.reserve(aPromise(100));
    it.chain.mine({ operations: [anOperation(40, other)] });
    pass(3);
    expect(await it.follower.round()).toMatchObject({ settled: 0, released: 0 });
    expect(await usedOf(it)).toEqual([1, 100]);
  });

  test('an operation with another hash than the signed one settles, since padding changes the hash', async () => {
    await it.usage.reserve(aPromise(100));
    it.usage.noteSigned(aKey(), aHash(1));
    it.chain.mine({ operations: [anOperation(40, { userOpHash: aHash(2) })] });
    pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1 });
  });

  test('what happened while no follower ran is settled by the next one', async () => {
    await it.usage.reserve(aPromise(100));
    it.chain.mine({ operations: [anOperation(40)] });
    pass(20);
    const next = it.create();
    expect(await next.round()).toMatchObject({ settled: 1 });
    expect((await it.usage.cursor(chainId))?.blockNumber).toBe(it.chain.height - 2);
  });

  test('a node that refuses wide ranges is asked for narrower ones', async () => {
    await it.usage.reserve(aPromise(100));
    it.chain.mine({ operations: [anOperation(40)] });
    pass(300);
    it.chain.widestRange = 7;
    expect(await it.follower.round()).toMatchObject({ settled: 1 });
    expect(
      it.chain.ranges.filter((range) => range <= 7).reduce((sum, range) => sum + range, 0),
    ).toBeGreaterThan(300);
  });

  test('of two followers over one store one takes the step, and nothing is counted twice', async () => {
    await it.usage.reserve(aPromise(100));
    it.chain.mine({ operations: [anOperation(40)] });
    pass(2);
    const rounds = await Promise.all([it.follower.round(), it.create().round()]);
    expect(rounds.map(({ settled }) => settled).toSorted((a, b) => a - b)).toEqual([0, 1]);
    expect(await usedOf(it)).toEqual([1, 40]);
  });
});

describe('several paymasters that promised one operation', () => {
  const key = (paymasterId: string) => ({ key: { paymasterId } });

  async function promiseTwice(): Promise<void> {
    it.watch([
      { contract, fundingAddress: funding },
      { contract, fundingAddress: otherFunding },
    ]);
    it.chain.mine({ transfers: [[walletOf(contract, otherFunding), 1000n * gweiInWei]] });
    pass(2);
    await it.follower.round();
    expect(await it.usage.reserve(aPromise(100, key('pm-1')))).toEqual(reserved);
    expect(await it.usage.reserve(aPromise(60, { ...key('pm-2'), fundingAddress: otherFunding }))).toEqual(
      reserved,
    );
  }

  test('a known hash decides, and the others are released', async () => {
    await promiseTwice();
    it.usage.noteSigned(aKey({ paymasterId: 'pm-2' }), aHash(7));
    it.chain.mine({
      operations: [anOperation(40, { userOpHash: aHash(7), payer: { wallet: otherFunding } })],
    });
    pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1, released: 1 });
    expect(await usedOf(it)).toEqual([1, 40]);
  });

  test("the contract's own event decides where no hash is known", async () => {
    await promiseTwice();
    const neighbour = anOperation(5, { nonce: 77n, payer: { wallet: funding, topic0: chargeTopic } });
    const payer = { wallet: otherFunding, topic0: chargeTopic };
    it.chain.mine({ operations: [neighbour, anOperation(40, { payer }), neighbour] });
    pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1, released: 1 });
    expect(await usedOf(it)).toEqual([1, 40]);
    expect(await accountsOf(it)).toMatchObject([
      [expect.anything(), 0],
      [990, 0],
    ]);
  });

  test('when nothing tells who paid, all are settled', async () => {
    await promiseTwice();
    it.chain.mine({ operations: [anOperation(40)] });
    pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 2, released: 0 });
    expect(await usedOf(it)).toEqual([2, 80]);
  });
});

describe('releasing', () => {
  test('only a confirmed block later than the expiry releases, never the clock', async () => {
    await it.usage.reserve(aPromise(100, { validUntil: seconds(500) }));
    it.clock.advance(50_000_000);
    await it.follower.round();
    it.chain.mine({ time: seconds(500) });
    it.chain.mine({ time: seconds(501) });
    it.chain.mineEmpty(1);
    await it.follower.round();
    expect(await usedOf(it)).toEqual([1, 100]);
    it.chain.mineEmpty(1);
    expect(await it.follower.round()).toMatchObject({ settled: 0, released: 1 });
    expect(await usedOf(it)).toEqual([0, 0]);
    expect(await accountsOf(it)).toEqual([
      [1000, 0],
      [1000, 0],
    ]);
  });

  test('an operation that was mined at its last moment is settled, not released', async () => {
    await it.usage.reserve(aPromise(100, { validUntil: seconds(500) }));
    it.chain.mine({ time: seconds(500), operations: [anOperation(40)] });
    it.chain.mine({ time: seconds(900) });
    it.chain.mineEmpty(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1, released: 0 });
    expect(await usedOf(it)).toEqual([1, 40]);
  });

  test('on an idle chain without confirmations the time of the pending block releases', async () => {
    it.reconfigure(aChainConfig({ confirmations: 0 }));
    await it.follower.round();
    await it.usage.reserve(aPromise(100, { validUntil: seconds(500) }));
    it.clock.advance(530_000);
    it.chain.time = seconds(530);
    expect(await it.follower.round()).toMatchObject({ released: 0 });
    it.chain.time = seconds(531);
    expect(await it.follower.round()).toMatchObject({ released: 1 });
  });

  test('with confirmations the pending block does not count', async () => {
    await it.usage.reserve(aPromise(100, { validUntil: seconds(500) }));
    it.clock.advance(9_000_000);
    it.chain.time = seconds(9000);
    await it.follower.round();
    expect(await usedOf(it)).toEqual([1, 100]);
  });

  test('more than one step can release are released by the steps that follow at once', async () => {
    const many = Array.from({ length: 1_001 }, (_, i) =>
      it.usage.reserve(
        aPromise(0, { key: { nonce: BigInt(i) }, limits: [], accounts: [], validUntil: seconds(500) }),
      ),
    );
    await Promise.all(many);
    it.chain.mine({ time: seconds(501) });
    it.chain.mineEmpty(2);
    expect(await it.follower.round()).toMatchObject({ released: 1_000, isComplete: false });
    expect(await it.follower.round()).toMatchObject({ released: 1, isComplete: true });
  });
});

describe('balances', () => {
  test('a withdrawal that the head shows counts at once, a deposit when it is confirmed', async () => {
    it.chain.mine({ transfers: [[walletOf(contract, funding), -300n * gweiInWei]] });
    await it.follower.round();
    expect(await accountsOf(it)).toEqual([
      [1000, 0],
      [700, 0],
    ]);
    it.chain.mine({ transfers: [[depositOf(entryPoint, contract), 500n * gweiInWei]] });
    await it.follower.round();
    expect(await accountsOf(it)).toMatchObject([
      [1000, 0],
      [700, 0],
    ]);
    pass(2);
    await it.follower.round();
    expect(await accountsOf(it)).toMatchObject([
      [1500, 0],
      [700, 0],
    ]);
  });

  test('a charge that is not settled yet is not taken from the deposit twice', async () => {
    await it.usage.reserve(aPromise(600));
    it.chain.mine({ operations: [anOperation(590)] });
    await it.follower.round();
    const [deposit] = await accountsOf(it);
    expect(deposit).toEqual([1000, 600]);
    expect(
      await it.usage.reserve(
        aPromise(400, { key: { nonce: 1n }, accounts: aPromise(400).accounts.slice(0, 1) }),
      ),
    ).toEqual(reserved);
  });

  test('an operation that nobody reserved is taken from the deposit as soon as the head shows it', async () => {
    it.chain.mine({ operations: [anOperation(250)] });
    await it.follower.round();
    expect(await accountsOf(it)).toEqual([
      [750, 0],
      [750, 0],
    ]);
  });

  test('balances of an idle chain stay fresh', async () => {
    it.clock.advance(61_000);
    expect((await it.follower.round()).cursor).toBeDefined();
    const request = aPromise(1, { depositMaxAgeMs: 1000 });
    expect(await it.usage.reserve(request)).toEqual(reserved);
  });

  test('a new funding wallet is read at once, and the round does not overwrite what it finds later', async () => {
    const wallet = otherFunding;
    it.chain.mine({ transfers: [[walletOf(contract, wallet), 70n * gweiInWei]] });
    pass(2);
    const request = aPromise(50, { fundingAddress: wallet });
    await expect(it.usage.reserve(request)).rejects.toMatchObject({ details: { reason: 'DEPOSIT_UNKNOWN' } });
    await it.follower.ensureAccount({ contract, fundingAddress: wallet });
    expect(await it.usage.reserve(request)).toEqual(reserved);
    it.chain.mine({ transfers: [[walletOf(contract, wallet), -70n * gweiInWei]] });
    await it.follower.ensureAccount({ contract, fundingAddress: wallet });
    await it.follower.round();
    expect(await it.usage.reserve(aPromise(1, { fundingAddress: wallet, key: { nonce: 1n } }))).toMatchObject(
      {
        outcome: 'deposit',
        balance: 0,
        reserved: 50,
      },
    );
  });

  test('a contract that cannot be read any more makes its balances unknown and no others', async () => {
    it.chain.broken.add(funding);
    pass(1);
    await it.follower.round();
    const aged = { depositMaxAgeMs: 900_000 };
    await expect(it.usage.reserve(aPromise(1, aged))).rejects.toMatchObject({
      details: { reason: 'DEPOSIT_UNKNOWN' },
    });
    expect(
      await it.usage.reserve(aPromise(1, { ...aged, accounts: aPromise(1).accounts.slice(0, 1) })),
    ).toEqual(reserved);
    it.chain.broken.clear();
    pass(1);
    await it.follower.round();
    expect(await it.usage.reserve(aPromise(1, { ...aged, key: { nonce: 1n } }))).toEqual(reserved);
  });

  test('an account that was never readable stays unknown', async () => {
    const wallet = otherFunding;
    it.chain.broken.add(wallet);
    it.watch([{ contract, fundingAddress: wallet }]);
    pass(1);
    await it.follower.round();
    await it.follower.ensureAccount({ contract, fundingAddress: wallet });
    const accounts = await it.usage.accounts(chainId);
    expect(accounts.map(({ fundingAddress }) => fundingAddress)).toEqual([undefined, funding]);
  });
});

describe('reorganisations', () => {
  test('one above the settled block changes nothing, and the new blocks count', async () => {
    await it.usage.reserve(aPromise(100));
    const before = it.chain.height;
    it.chain.mine({ operations: [anOperation(90)] });
    await it.follower.round();
    it.chain.reorganise(before);
    it.chain.mine({ operations: [anOperation(40)] });
    pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1 });
    expect(await usedOf(it)).toEqual([1, 40]);
  });

  test('one below the settled block keeps what was counted, and counts an operation that is mined again once', async () => {
    await it.usage.reserve(aPromise(100));
    const before = it.chain.height;
    it.chain.mine({ operations: [anOperation(40)] });
    pass(2);
    await it.follower.round();
    // Its account asks again before the operation is mined on the other branch.
    await it.usage.reserve(aPromise(100, { validUntil: seconds(1000) }));
    it.chain.reorganise(before);
    pass(2);
    it.chain.mine({ operations: [anOperation(45)] });
    pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 0 });
    expect(await usedOf(it)).toEqual([2, 140]);
    it.chain.mine({ time: seconds(1001) });
    it.chain.mineEmpty(2);
    expect(await it.follower.round()).toMatchObject({ released: 1 });
    expect(await usedOf(it)).toEqual([1, 40]);
  });

  test('a settled operation whose block is gone keeps its need off the balance until it is mined again or expired', async () => {
    await it.usage.reserve(aPromise(100, { validUntil: seconds(1000) }));
    const before = it.chain.height;
    it.chain.mine({ operations: [anOperation(40)] });
    pass(2);
    await it.follower.round();
    it.chain.reorganise(before);
    pass(3);
    await it.follower.round();
    expect(await accountsOf(it)).toEqual([
      [900, 0],
      [900, 0],
    ]);
    it.chain.mine({ operations: [anOperation(45)] });
    pass(2);
    await it.follower.round();
    expect(await accountsOf(it)).toEqual([
      [955, 0],
      [955, 0],
    ]);
  });

  test('a node that lags behind on the same chain is waited for', async () => {
    pass(5);
    await it.follower.round();
    const cursor = await it.usage.cursor(chainId);
    it.chain.shown = it.chain.height - 4;
    await it.follower.round();
    const restarted = it.create();
    await restarted.round();
    expect(await it.usage.cursor(chainId)).toEqual(cursor);
    it.chain.shown = undefined;
    pass(1);
    await it.follower.round();
    expect((await it.usage.cursor(chainId))?.blockNumber).toBe(it.chain.height - 2);
  });

  test('another chain in its place is followed from there, and what was promised stays promised', async () => {
    await it.usage.reserve(aPromise(100, { validUntil: seconds(5000) }));
    pass(100);
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
    pass(100);
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
    pass(5);
    await it.follower.round();
    pass(100);
    await it.create().round();
    it.chain.reorganise(6);
    await it.create().round();
    expect((await it.usage.cursor(chainId))?.blockNumber).toBe(4);
  });
});

describe('the head', () => {
  test('shows the newest block and the fees, and when they were read', async () => {
    pass(1);
    await it.follower.round();
    expect(it.follower.head).toEqual({
      number: it.chain.height,
      timestamp: it.chain.time,
      baseFeePerGas: 7n,
      priorityFeePerGas: 1_500_000_000n,
      observedAt: it.clock.now(),
    });
  });

  test('of a node that suggests no tip has none', async () => {
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
  pass(2);
  it.chain.isDown = true;
  await expect(it.follower.round()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await it.usage.cursor(chainId)).toEqual(before);
  it.chain.isDown = false;
  expect(await it.follower.round()).toMatchObject({ settled: 1 });
});

test('a node of another chain is not followed', async () => {
  const other = new FakeChain({ chainId: 1, time: seconds(0) });
  other.mineEmpty(50);
  const before = await it.usage.cursor(chainId);
  const follower = new ChainFollower({
    usage: it.usage,
    chainId,
    current: () => ({ config: aChainConfig(), chain: other }),
    fundingAccounts: () => [],
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

test('a wallet that nobody uses any more is not read, unless something is promised on it', async () => {
  await it.usage.reserve(aPromise(10));
  it.watch([]);
  const readAt = async () =>
    (await it.usage.accounts(chainId)).find(({ fundingAddress }) => fundingAddress === funding)?.readAt;
  pass(1);
  await it.follower.round();
  expect(await readAt()).toBe(it.clock.now());
  it.chain.mine({ operations: [anOperation(10)] });
  pass(2);
  await it.follower.round();
  const last = await readAt();
  pass(10);
  await it.follower.round();
  expect(await readAt()).toBe(last);
});
