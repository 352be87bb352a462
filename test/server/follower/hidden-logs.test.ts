import { beforeEach, describe, expect, test } from '@jest/globals';
import { anAddress, chainId, entryPoint, seconds, sender } from '../../conformance/usage-requests.js';
import {
  accountsOf,
  aFollowed,
  anOperation,
  aPromise,
  lossesOf,
  signedBytes,
  usedOf,
  type Followed,
} from './followed.js';

// A node, or one of several behind a URL, answers no logs and reports no error.

let it: Followed;
const bytes = signedBytes('SPONSORED', 1);
const own = { entryPoint, sender, nonce: 0n };

beforeEach(async () => {
  it = await aFollowed();
  await it.usage.reserve(aPromise(100, { promise: { digest: bytes.digest, validUntil: seconds(500) } }));
});

/** Blocks after the last moment of the promise, enough to confirm it. */
function expire(): void {
  it.chain.mine({ time: seconds(501) });
  it.chain.mineEmpty(2);
}

describe('an operation that was mined while the node hid it', () => {
  beforeEach(async () => {
    it.chain.hidesLogs = true;
    it.chain.mine({ operations: [anOperation(40, { input: bytes.input })] });
    it.pass(3);
    await it.follower.round();
    it.pass(1);
    await it.follower.round();
  });

  test('is never released, and settles when the node shows its sender', async () => {
    expire();
    expect(await it.follower.round()).toMatchObject({ settled: 0, released: 0, forfeited: 0 });
    expect(await usedOf(it)).toEqual([1, 100]);
    it.chain.hidesLogs = false;
    it.pass(3);
    expect(await it.follower.round()).toMatchObject({ settled: 0 });
    it.pass(1);
    expect(await it.follower.round()).toMatchObject({ settled: 1, released: 0 });
    expect(await usedOf(it)).toEqual([1, 40]);
  });

  test('settles from the logs of another connection', async () => {
    const honest = it.chain.twin();
    it.elsewhere.push(honest);
    expire();
    await it.follower.round();
    it.pass(4);
    honest.follow(it.chain);
    expect(await it.follower.round()).toMatchObject({ settled: 1 });
    expect(await usedOf(it)).toEqual([1, 40]);
  });

  test('is not stopped by another node that shows it in a block of another branch', async () => {
    const other = it.chain.twin();
    other.reorganise(it.chain.height - 6);
    it.elsewhere.push(other);
    expire();
    await it.follower.round();
    other.mine({ operations: [anOperation(40, { input: bytes.input })] });
    other.mineEmpty(it.chain.height - other.height + 8);
    for (let block = 0; block < 66; block++) {
      it.pass(1);
      await it.follower.round();
    }
    expect(await it.usage.liveCount(chainId)).toBe(0);
    expect(await usedOf(it)).toEqual([1, 100]);
  });

  test('finally keeps the maximum, and frees the deposit', async () => {
    expire();
    for (let block = 0; block < 64; block++) {
      expect(await it.follower.round()).toMatchObject({ released: 0, forfeited: 0 });
      it.pass(1);
    }
    expect(await it.follower.round()).toMatchObject({ settled: 0, released: 0, forfeited: 1 });
    expect(await usedOf(it)).toEqual([1, 100]);
    expect(await accountsOf(it)).toEqual([
      [960, 0],
      [960, 0],
    ]);
    expect(await it.usage.liveCount(chainId)).toBe(0);
  });
});

test('a nonce that its account used up by itself keeps the maximum', async () => {
  it.chain.mine({ incremented: [own] });
  expire();
  await it.follower.round();
  for (let n = 0; n < 70; n++) {
    it.pass(1);
    await it.follower.round();
  }
  expect(await it.usage.liveCount(chainId)).toBe(0);
  expect(await usedOf(it)).toEqual([1, 100]);
});

test('a reservation that waits for later blocks costs no request while no block is mined', async () => {
  it.chain.mine({ incremented: [own] });
  expire();
  expect((await it.follower.round()).cursor).toBeDefined();
  const before = it.chain.requests.get('eth_call');
  expect(await it.follower.round()).toMatchObject({ cursor: undefined, isComplete: true });
  expect(it.chain.requests.get('eth_call')).toBe(before);
});

test.each([
  { name: 'another paymaster', contract: anAddress(0xc1) },
  { name: 'nobody', contract: anAddress(0) },
])('an operation of the nonce that $name paid for releases the promise', async ({ contract }) => {
  it.chain.mine({ operations: [anOperation(40, { contract })] });
  expire();
  expect(await it.follower.round()).toMatchObject({ released: 1, unattributed: 0 });
  expect(await usedOf(it)).toEqual([0, 0]);
});

test('one call reads the nonces of all expired promises', async () => {
  for (let n = 1; n < 100; n++)
    await it.usage.reserve(
      aPromise(1, { key: { nonce: BigInt(n) << 64n }, promise: { validUntil: seconds(500) } }),
    );
  expire();
  const before = it.chain.requests.get('eth_call') ?? 0;
  expect(await it.follower.round()).toMatchObject({ released: 100 });
  // Nonces, and balances at two blocks.
  expect((it.chain.requests.get('eth_call') ?? 0) - before).toBe(3);
});

describe('a nonce that is promised once more after its operation was settled', () => {
  const promiseAgain = (variant: number, mode: 'SPONSORED' | 'ERC20' = 'SPONSORED') => {
    const { digest } = signedBytes(mode, variant);
    const promise = { mode, digest, validUntil: seconds(500) };
    return it.usage.reserve(aPromise(100, { promise }));
  };

  test('counts once: the promise is released when it expires, also after a restart', async () => {
    it.chain.mine({ operations: [anOperation(40, { input: bytes.input })] });
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1 });
    await promiseAgain(2);
    expire();
    expect(await it.create().round()).toMatchObject({ settled: 0, released: 1, unattributed: 0 });
    expect(await usedOf(it)).toEqual([1, 40]);
  });

  test('counts once also where the very same bytes are promised again', async () => {
    it.chain.mine({ operations: [anOperation(40, { input: bytes.input })] });
    it.pass(2);
    await it.follower.round();
    await promiseAgain(1);
    expire();
    expect(await it.follower.round()).toMatchObject({ settled: 0, released: 1 });
    expect(await usedOf(it)).toEqual([1, 40]);
  });

  test('is a loss once', async () => {
    await promiseAgain(7, 'ERC20');
    it.chain.mine({ operations: [anOperation(40, { input: signedBytes('ERC20', 7).input })] });
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1, unpaid: 1 });
    await promiseAgain(8, 'ERC20');
    expire();
    expect(await it.create().round()).toMatchObject({ released: 1, unpaid: 0 });
    expect(await lossesOf(it)).toEqual([100, 100]);
  });

  test('keeps the maximum where nobody can tell which of them was mined', async () => {
    it.chain.mine({ operations: [anOperation(40)] });
    it.pass(2);
    await it.follower.round();
    await promiseAgain(2);
    expire();
    expect(await it.createForgetful().round()).toMatchObject({ settled: 0, released: 0, forfeited: 1 });
    expect(await usedOf(it)).toEqual([2, 140]);
  });
});
