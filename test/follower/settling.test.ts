import { beforeEach, describe, expect, test } from '@jest/globals';
import { entryPoints } from '../../core/paymaster/entry-point.js';
import type { ReserveRequest } from '../../core/policy/usage-store.js';
import { parseAddress, toAddressKey } from '../../core/units/address.js';
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
import { walletOf } from '../fakes/chain.js';
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

const reserved = { outcome: 'reserved' };

describe('settling', () => {
  test('a mined operation settles to what it cost, when it has enough confirmations and not before', async () => {
    expect(await it.usage.reserve(aPromise(100))).toEqual(reserved);
    it.chain.mine({ operations: [anOperation(40)] });
    await it.follower.round();
    it.pass(1);
    await it.follower.round();
    expect(await usedOf(it)).toEqual([1, 100]);
    it.pass(1);
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
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1 });
    expect(await usedOf(it)).toEqual([1, 40]);
  });

  test('a cost is rounded up to whole gwei', async () => {
    await it.usage.reserve(aPromise(100));
    it.chain.mine({ operations: [anOperation(0, { cost: 39n * gweiInWei + 1n })] });
    it.pass(2);
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
    it.pass(3);
    expect(await it.follower.round()).toMatchObject({ settled: 0, released: 0 });
    expect(await usedOf(it)).toEqual([1, 100]);
  });

  test('an operation with another hash than the signed one settles, since padding changes the hash', async () => {
    await it.usage.reserve(aPromise(100));
    it.usage.noteSigned(aKey(), aHash(1));
    it.chain.mine({ operations: [anOperation(40, { userOpHash: aHash(2) })] });
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1 });
  });

  test('what happened while no follower ran is settled by the next one', async () => {
    await it.usage.reserve(aPromise(100));
    it.chain.mine({ operations: [anOperation(40)] });
    it.pass(20);
    const next = it.create();
    expect(await next.round()).toMatchObject({ settled: 1 });
    expect((await it.usage.cursor(chainId))?.blockNumber).toBe(it.chain.height - 2);
  });

  test.each([
    { name: 'moved to another contract', profiles: [{ sponsorship: parseAddress(anAddress(0xc1)) }] },
    { name: 'taken away', profiles: [] },
    { name: 'taken away (with an EntryPoint of its own)', profiles: [], promisedIn: entryPoint },
  ])('an operation on a contract whose profile was $name since still counts', async (former) => {
    const { profiles, promisedIn = toAddressKey(entryPoints['0.6']) } = former;
    expect(await it.usage.reserve(aPromise(100, { key: { entryPoint: promisedIn } }))).toEqual(reserved);
    const config = aChainConfig();
    const [profile] = config.profiles;
    it.reconfigure({ ...config, profiles: profiles.map((change) => ({ ...profile!, ...change })) });
    it.chain.mine({ operations: [anOperation(40, { entryPoint: promisedIn })] });
    it.pass(100);
    await it.follower.round();
    expect(await usedOf(it)).toEqual([1, 40]);
  });

  test('a node that refuses wide ranges is asked for narrower ones', async () => {
    await it.usage.reserve(aPromise(100));
    it.chain.mine({ operations: [anOperation(40)] });
    it.pass(300);
    it.chain.widestRange = 7;
    expect(await it.follower.round()).toMatchObject({ settled: 1 });
    expect(
      it.chain.ranges.filter((range) => range <= 7).reduce((sum, range) => sum + range, 0),
    ).toBeGreaterThan(300);
  });

  test('of two followers over one store one takes the step, and nothing is counted twice', async () => {
    await it.usage.reserve(aPromise(100));
    it.chain.mine({ operations: [anOperation(40)] });
    it.pass(2);
    const rounds = await Promise.all([it.follower.round(), it.create().round()]);
    expect(rounds.map(({ settled }) => settled).toSorted((a, b) => a - b)).toEqual([0, 1]);
    expect(await usedOf(it)).toEqual([1, 40]);
  });
});

describe('several paymasters that promised one operation', () => {
  const key = (paymasterId: string) => ({ key: { paymasterId } });

  async function promiseTwice(second: Pick<Partial<ReserveRequest>, 'mode'> = {}): Promise<void> {
    it.watch([
      { contract, fundingAddress: funding },
      { contract, fundingAddress: otherFunding },
    ]);
    it.chain.mine({ transfers: [[walletOf(contract, otherFunding), 1000n * gweiInWei]] });
    it.pass(2);
    await it.follower.round();
    expect(await it.usage.reserve(aPromise(100, key('pm-1')))).toEqual(reserved);
    const other = { ...key('pm-2'), ...second, fundingAddress: otherFunding };
    expect(await it.usage.reserve(aPromise(60, other))).toEqual(reserved);
  }

  test('a known hash decides, and the others are released', async () => {
    await promiseTwice();
    it.usage.noteSigned(aKey({ paymasterId: 'pm-2' }), aHash(7));
    it.chain.mine({
      operations: [anOperation(40, { userOpHash: aHash(7), payer: { wallet: otherFunding } })],
    });
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1, released: 1 });
    expect(await usedOf(it)).toEqual([1, 40]);
  });

  test("the contract's own event decides where no hash is known", async () => {
    await promiseTwice();
    const neighbour = anOperation(5, { nonce: 77n, payer: { wallet: funding, topic0: chargeTopic } });
    const payer = { wallet: otherFunding, topic0: chargeTopic };
    it.chain.mine({ operations: [neighbour, anOperation(40, { payer }), neighbour] });
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1, released: 1 });
    expect(await usedOf(it)).toEqual([1, 40]);
    expect(await accountsOf(it)).toMatchObject([
      [expect.anything(), 0],
      [990, 0],
    ]);
  });

  test('the event that names the token account tells a token payment that paid nothing from a sponsorship', async () => {
    await promiseTwice({ mode: 'ERC20' });
    it.chain.mine({
      operations: [anOperation(40, { payer: { wallet: otherFunding, topic0: chargeTopic } })],
    });
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1, released: 1, unpaid: 1 });
    expect(await usedOf(it)).toEqual([1, 40]);
    expect(await accountsOf(it)).toMatchObject([
      [960, 0],
      [1000, 0],
    ]);
  });

  test('when nothing tells who paid, all are settled', async () => {
    await promiseTwice();
    it.chain.mine({ operations: [anOperation(40)] });
    it.pass(2);
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
