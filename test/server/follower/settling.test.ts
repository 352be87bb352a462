import { beforeEach, describe, expect, test } from '@jest/globals';
import { entryPoints } from '../../../core/entry-point/address.js';
import { paidGasInTokens } from '../../../core/paymaster/token-charge.js';
import { contractFence } from '../../../core/usage/counter-names.js';
import { parseAddress, toAddressKey, type AddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import {
  aDigest,
  aHash,
  anAddress,
  chainId,
  contract,
  entryPoint,
  funding,
  seconds,
  sender,
} from '../../conformance/usage-requests.js';
import { walletOf } from '../../fakes/chain.js';
import { anExampleOperation } from '../../core/paymaster/operations.js';
import { handleOpsInput } from '../../core/userop/bundles.js';
import {
  accountsOf,
  aChainConfig,
  aFollowed,
  anOperation,
  aPromise,
  chargeTopic,
  gweiInWei,
  lossesOf,
  otherFunding,
  signedBytes,
  usedOf,
  type Followed,
} from './followed.js';

let it: Followed;
beforeEach(async () => {
  it = await aFollowed();
});

const reserved = { outcome: 'reserved' };

describe('settling', () => {
  test('a mined operation settles at its cost, when it has enough confirmations and not before', async () => {
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

  test('an operation with another promise than the only one that is known settles: padding changes hashes', async () => {
    await it.usage.reserve(aPromise(100));
    it.chain.mine({ operations: [anOperation(40, { userOpHash: aHash(2), input: sponsored(2).input })] });
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1, unattributed: 0 });
    expect(it.chain.requests.has('eth_getTransactionByHash')).toBe(false);
  });

  test('the next follower settles everything that happened while none ran', async () => {
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
    { name: 'taken away (with another EntryPoint)', profiles: [], promisedIn: entryPoint },
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

  test('a follower that another one overtakes stops no contract for what that one has settled', async () => {
    await it.usage.reserve(aPromise(100));
    it.chain.mine({ operations: [anOperation(40)] });
    it.pass(2);
    // It has read what was mined, and is slow to read who promised it.
    const overtaken = it.create({
      ...it.usage,
      reservations: async (...asked) => {
        await it.follower.round();
        return it.usage.reservations(...asked);
      },
    });
    expect(await overtaken.round()).toMatchObject({ settled: 0, unattributed: 0 });
    expect(await it.usage.suspended(chainId)).toEqual([]);
    expect(await usedOf(it)).toEqual([1, 40]);
  });
});

describe('several paymasters that promised one operation', () => {
  const [ours, theirs] = [sponsored(1), sponsored(2, otherFunding)];

  beforeEach(async () => {
    it.watch([
      { contract, fundingAddress: funding },
      { contract, fundingAddress: otherFunding },
    ]);
    it.chain.mine({ transfers: [[walletOf(contract, otherFunding), 1000n * gweiInWei]] });
    it.pass(2);
    await it.follower.round();
    const promise = (cost: number, paymasterId: string, digest: Hex, fundingAddress: AddressKey) =>
      it.usage.reserve(aPromise(cost, { key: { paymasterId }, promise: { digest, fundingAddress } }));
    expect(await promise(100, 'pm-1', ours.digest, funding)).toEqual(reserved);
    expect(await promise(60, 'pm-2', theirs.digest, otherFunding)).toEqual(reserved);
  });

  test('the bytes of the operation decide, and the others are released', async () => {
    it.chain.mine({ operations: [anOperation(40, { input: theirs.input })] });
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1, released: 1 });
    expect(await usedOf(it)).toEqual([1, 40]);
  });

  test('a transaction that one node has lost is read from another', async () => {
    it.chain.mine({ operations: [anOperation(40, { input: theirs.input })] });
    it.pass(2);
    it.elsewhere.push(it.chain.twin());
    it.chain.hidesTransactions = true;
    expect(await it.follower.round()).toMatchObject({ settled: 1, released: 1 });
    expect(await usedOf(it)).toEqual([1, 40]);
  });

  test("the contract's own event decides where the bytes cannot be read", async () => {
    const neighbour = anOperation(5, { nonce: 77n << 64n, payer: { wallet: funding, topic0: chargeTopic } });
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

  test('a paymaster that promised less than the operation cost is never charged', async () => {
    it.chain.mine({ operations: [anOperation(90)] });
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1, released: 1 });
    expect(await usedOf(it)).toEqual([1, 90]);
  });

  test('when nothing shows who paid, all are settled', async () => {
    it.chain.mine({ operations: [anOperation(40)] });
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 2, released: 0 });
    expect(await usedOf(it)).toEqual([2, 80]);
    expect(it.lines).toContainEqual({
      level: 'warn',
      message: 'operation settled for every paymaster that promised it',
    });
  });

  test('an operation whose promise nobody here has made stops the contract, and both are released', async () => {
    it.chain.mine({ operations: [anOperation(40, { input: sponsored(3).input })] });
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 0, released: 2, unattributed: 1 });
    expect(await it.usage.suspended(chainId)).toEqual([contractFence(contract)]);
  });
});

describe('token payments', () => {
  const [paid, free] = [signedBytes('ERC20', 1), signedBytes('SPONSORED', 2)];
  const inTokens = { mode: 'ERC20', digest: paid.digest } as const;
  const charge = { topic0: paidGasInTokens.topic0 };

  test('a payment of nothing is a loss of its account and of the contract, and frees the deposit', async () => {
    await it.usage.reserve(aPromise(100, { promise: inTokens }));
    it.chain.mine({ operations: [anOperation(40)] });
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1, unpaid: 1 });
    // The contract does not say what it gave back to its balance: all that was held.
    expect(await lossesOf(it)).toEqual([100, 100]);
    expect(await accountsOf(it)).toMatchObject([
      [960, 0],
      [960, 0],
    ]);
  });

  test('one that paid is not a loss', async () => {
    await it.usage.reserve(aPromise(100, { promise: inTokens }));
    it.chain.mine({ operations: [anOperation(40, { tokenCharge: charge })] });
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1, unpaid: 0 });
    expect(await lossesOf(it)).toEqual([0, 0]);
  });

  test('one whose profile was removed is a loss too', async () => {
    const key = { entryPoint: toAddressKey(entryPoints['0.6']) };
    await it.usage.reserve(aPromise(100, { key, promise: inTokens }));
    it.reconfigure(aChainConfig({ profiles: [] }));
    it.chain.mine({ operations: [anOperation(40, key)] });
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1, unpaid: 1 });
    expect(await lossesOf(it)).toEqual([100, 100]);
  });

  test('is not decided while the node does not show the logs of its block', async () => {
    await it.usage.reserve(aPromise(100, { promise: inTokens }));
    it.chain.mine({ operations: [anOperation(40)] });
    it.pass(2);
    it.chain.hidesBlockLogs = true;
    expect(await it.follower.round()).toMatchObject({ settled: 0 });
    expect(await it.usage.liveCount(chainId)).toBe(1);
    it.chain.hidesBlockLogs = false;
    it.clock.advance(5_000);
    expect(await it.follower.round()).toMatchObject({ settled: 1, unpaid: 1 });
  });

  test.each([
    {
      name: 'the unpaid token payment is a loss and no sponsorship',
      mined: paid.input,
      used: [0, 0],
      lost: 100,
    },
    { name: 'the sponsorship is one and no loss', mined: free.input, used: [1, 90], lost: 0 },
    {
      name: 'unreadable and too dear for the sponsorship: a loss',
      mined: undefined,
      used: [0, 0],
      lost: 100,
    },
  ])('asked cheap and sponsored, dear in tokens, cheap in tokens: $name', async ({ mined, used, lost }) => {
    const isSponsored = mined === free.input;
    await it.usage.reserve(
      aPromise(isSponsored ? 100 : 30, { promise: { mode: 'SPONSORED', digest: free.digest } }),
    );
    await it.usage.reserve(aPromise(100, { promise: inTokens }));
    await it.usage.reserve(
      aPromise(30, { promise: { ...inTokens, digest: signedBytes('ERC20', 9).digest } }),
    );
    const input = mined === undefined ? {} : { input: mined };
    it.chain.mine({ operations: [anOperation(90, input)] });
    it.pass(2);
    await it.follower.round();
    expect(await usedOf(it)).toEqual(used);
    expect(await lossesOf(it)).toEqual([lost, lost]);
  });

  test('a thousand requests of a stranger for the nonce change nothing: the bytes show mode and wallet', async () => {
    const asked = { mode: 'SPONSORED', digest: free.digest } as const;
    await it.usage.reserve(aPromise(100, { promise: asked }));
    for (let n = 0; n < 40; n++)
      await it.usage.reserve(aPromise(100, { promise: { mode: 'ERC20', digest: aDigest(1000 + n) } }));
    it.chain.mine({ operations: [anOperation(40, { input: free.input })] });
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1, unpaid: 0, unattributed: 0 });
    expect(await usedOf(it)).toEqual([1, 40]);
    expect(await lossesOf(it)).toEqual([0, 0]);
  });
});

describe('operations of our contracts that nobody here has promised', () => {
  test('stop the contract, once they are confirmed', async () => {
    it.chain.mine({ operations: [anOperation(40)] });
    await it.follower.round();
    expect(await it.usage.suspended(chainId)).toEqual([]);
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ unattributed: 1 });
    expect(await it.usage.suspended(chainId)).toEqual([contractFence(contract)]);
    expect(it.lines).toContainEqual({
      level: 'error',
      message: 'operation was mined that nobody has promised: the key leaked or usage data are lost',
    });
  });

  test.each([
    { name: 'stop nothing where the contract takes such data from anybody', accepts: true, unattributed: 1 },
    // The second operation cannot be read either way: it may be such an operation too, so it is counted and stops nothing.
    { name: 'stop nothing where the contract was not asked yet', accepts: undefined, unattributed: 2 },
    { name: 'stop a contract that refuses such data', accepts: false, unattributed: 2 },
  ])('$name', async ({ accepts, unattributed }) => {
    const [profile] = aChainConfig({}, 'vendor-2.x').profiles;
    const apart = { sponsorship: parseAddress(anAddress(0xc1)), token: parseAddress(contract) };
    const fact = accepts === undefined ? {} : { acceptsUnsigned: accepts };
    it.reconfigure(aChainConfig({ profiles: [{ ...profile!, ...apart, ...fact }] }));
    const op = { ...anExampleOperation, sender, nonce: 0n };
    const unsigned: Hex = `0x${contract.slice(2)}${'00'.repeat(32)}01${'22'.repeat(20)}`;
    const input = handleOpsInput('0.7', op, unsigned);
    it.chain.mine({ operations: [anOperation(40, { input }), anOperation(40, { nonce: 1n })] });
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ unattributed });
    expect(await it.usage.suspended(chainId)).toEqual(accepts === false ? [contractFence(contract)] : []);
  });

  test('of a stranger are ignored', async () => {
    it.chain.mine({ operations: [anOperation(40, { contract: anAddress(0xc1) })] });
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ unattributed: 0 });
  });
});

function sponsored(variant: number, wallet: AddressKey = funding) {
  return signedBytes('SPONSORED', variant, { wallet });
}

describe('releasing', () => {
  test('only a confirmed block later than the expiry releases, never the clock', async () => {
    await it.usage.reserve(aPromise(100, { promise: { validUntil: seconds(500) } }));
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
    await it.usage.reserve(aPromise(100, { promise: { validUntil: seconds(500) } }));
    it.chain.mine({ time: seconds(500), operations: [anOperation(40)] });
    it.chain.mine({ time: seconds(900) });
    it.chain.mineEmpty(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1, released: 0 });
    expect(await usedOf(it)).toEqual([1, 40]);
  });

  test('on an idle chain without confirmations the time of the pending block releases', async () => {
    it.reconfigure(aChainConfig({ confirmations: 0 }));
    await it.follower.round();
    await it.usage.reserve(aPromise(100, { promise: { validUntil: seconds(500) } }));
    it.clock.advance(530_000);
    it.chain.time = seconds(530);
    expect(await it.follower.round()).toMatchObject({ released: 0 });
    it.chain.time = seconds(531);
    expect(await it.follower.round()).toMatchObject({ released: 1 });
  });

  test('with confirmations the pending block does not count', async () => {
    await it.usage.reserve(aPromise(100, { promise: { validUntil: seconds(500) } }));
    it.clock.advance(9_000_000);
    it.chain.time = seconds(9000);
    await it.follower.round();
    expect(await usedOf(it)).toEqual([1, 100]);
  });

  test('promises beyond the bound of one step are released by further steps at once', async () => {
    const many = Array.from({ length: 1_001 }, (_, i) =>
      it.usage.reserve(
        aPromise(0, {
          key: { nonce: BigInt(i) },
          limits: [],
          accounts: [],
          promise: { validUntil: seconds(500) },
        }),
      ),
    );
    await Promise.all(many);
    it.chain.mine({ time: seconds(501) });
    it.chain.mineEmpty(2);
    expect(await it.follower.round()).toMatchObject({ released: 1_000, isComplete: false });
    expect(await it.follower.round()).toMatchObject({ released: 1, isComplete: true });
  });
});
