import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { LogFilter } from '../../../core/chain/chain.js';
import { contractFence } from '../../../core/usage/counter-names.js';
import { parseAddress } from '../../../core/units/address.js';
import { anAddress, chainId, contract, seconds, sender } from '../../conformance/usage-requests.js';
import {
  accountsOf,
  aChainConfig,
  aFollowed,
  anOperation,
  aPromise,
  followFor,
  signedBytes,
  usedOf,
  type Followed,
} from './followed.js';

// A node can refuse the events of a block: there are too many of them, or the node is too slow with this block.

let it: Followed;
const bytes = signedBytes('SPONSORED', 1);
const other = anAddress(0xab);

beforeEach(async () => {
  it = await aFollowed();
});
afterEach(() => it.stop());

const follow = (passing: number) => followFor(it, passing);
const settledBlock = async () => (await it.usage.cursor(chainId))?.blockNumber;
const touches = (block: number, logs: LogFilter) =>
  'fromBlock' in logs && logs.fromBlock <= block && block <= logs.toBlock;

/** The node answers no query for events that touches this block. */
function refuse(block: number): void {
  it.chain.refuses = (asked) => 'logs' in asked && touches(block, asked.logs);
}

describe('a block whose events are refused', () => {
  let block: number;
  beforeEach(async () => {
    await it.usage.reserve(aPromise(100, { promise: { digest: bytes.digest, validUntil: seconds(2_000) } }));
    block = it.chain.mine({ operations: [anOperation(40, { input: bytes.input })] }).number;
    refuse(block);
    it.pass(2);
  });

  test('stops nothing: later blocks settle, and balances are read', async () => {
    await it.follower.round();
    await it.usage.reserve(aPromise(50, { key: { sender: other } }));
    it.chain.mine({ operations: [anOperation(20, { sender: other })] });
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1 });
    expect(await settledBlock()).toBe(it.chain.height - 2);
    expect(await usedOf(it)).toEqual([2, 120]);
    expect(await accountsOf(it)).toMatchObject([
      [940, 100],
      [940, 100],
    ]);
  });

  test('settles once the node shows it', async () => {
    await follow(60);
    it.chain.refuses = () => false;
    expect(await follow(60)).toMatchObject({ settled: 1, passedOver: 0 });
    expect(await usedOf(it)).toEqual([1, 40]);
    expect(await it.usage.suspended(chainId)).toEqual([]);
  });

  test('settles from another connection', async () => {
    await it.follower.round();
    it.elsewhere.push(it.chain.twin());
    it.elsewhere[0]!.follow(it.chain);
    expect(await follow(20)).toMatchObject({ settled: 1 });
  });

  test('is passed over after eight tries and ten minutes, and its promises end by their nonces', async () => {
    expect(await follow(600)).toMatchObject({ settled: 0, passedOver: 0 });
    expect(await follow(60)).toMatchObject({ settled: 0, passedOver: 1 });
    expect(await usedOf(it)).toEqual([1, 100]);
    expect(it.lines).toContainEqual({
      level: 'error',
      message: 'events of a block cannot be read: promises for its operations end by their nonces',
    });
    const { forfeited } = await follow(2_400);
    expect(forfeited).toBe(1);
    expect(await usedOf(it)).toEqual([1, 100]);
    expect(await it.usage.suspended(chainId)).toEqual([]);
  });

  test('is waited for by the next follower too', async () => {
    await it.follower.round();
    const next = it.create();
    await next.round();
    it.chain.refuses = () => false;
    expect(await followFor(it, 20, next)).toMatchObject({ settled: 1 });
  });
});

test('an operation that nobody has promised stops its contract, although its block was shown late', async () => {
  refuse(it.chain.mine({ operations: [anOperation(40)] }).number);
  it.pass(2);
  await follow(30);
  expect(await it.usage.suspended(chainId)).toEqual([]);
  it.chain.refuses = () => false;
  await follow(30);
  expect(await it.usage.suspended(chainId)).toEqual([contractFence(contract)]);
});

test('an operation that ended in the meantime is not mistaken for one that nobody has promised', async () => {
  await it.usage.reserve(aPromise(100, { promise: { digest: bytes.digest, validUntil: seconds(100) } }));
  const { number } = it.chain.mine({ operations: [anOperation(40, { input: bytes.input })] });
  // The node shows the block's events by sender only.
  it.chain.refuses = (asked) =>
    'logs' in asked && touches(number, asked.logs) && asked.logs.topics?.[3] !== undefined;
  it.pass(2);
  expect(await follow(300)).toMatchObject({ settled: 1 });
  it.chain.refuses = () => false;
  await follow(300);
  expect(await it.usage.suspended(chainId)).toEqual([]);
  expect(await usedOf(it)).toEqual([1, 40]);
});

test('a node that refuses every query for events is not followed', async () => {
  const before = await settledBlock();
  it.chain.refuses = (asked) => 'logs' in asked;
  it.pass(5);
  await expect(it.follower.round()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await settledBlock()).toBe(before);
});

test('a block is read contract by contract where an answer for all of them would be too large', async () => {
  const [profile] = aChainConfig().profiles;
  const contracts = [contract, anAddress(0xc1), anAddress(0xc2)];
  it.reconfigure(
    aChainConfig({
      profiles: contracts.map((one, i) => ({ ...profile!, version: `${i}`, sponsorship: parseAddress(one) })),
    }),
  );
  const operations = contracts.flatMap((one, i) =>
    [0n, 1n, 2n].map((n) => anOperation(1, { contract: one, sender: anAddress(0x100 + i), nonce: n << 64n })),
  );
  for (const { contract: paymaster, sender: account, nonce } of operations)
    await it.usage.reserve(
      aPromise(1, { key: { sender: account, nonce }, promise: { contract: paymaster }, accounts: [] }),
    );
  it.chain.mostLogs = 3;
  it.chain.mine({ operations });
  it.pass(2);
  expect(await it.follower.round()).toMatchObject({ settled: 9, unattributed: 0 });
});

test('more operations of one contract in one block than any answer holds stop nothing, and settle by their senders', async () => {
  const accounts = Array.from({ length: 300 }, (_, i) => anAddress(0x1000 + i));
  for (const account of accounts)
    await it.usage.reserve(
      aPromise(2, { key: { sender: account }, promise: { digest: bytes.digest, validUntil: seconds(300) } }),
    );
  it.chain.mostLogs = 100;
  it.chain.mine({ operations: accounts.map((account) => anOperation(1, { sender: account })) });
  it.pass(2);
  await it.follower.round();
  expect(await settledBlock()).toBe(it.chain.height - 2);
  await follow(2_000);
  expect(await it.usage.liveCount(chainId)).toBe(0);
  expect(await it.usage.suspended(chainId)).toEqual([]);
  const [count, spent] = await usedOf(it);
  expect(count).toBe(300);
  expect(spent).toBeGreaterThanOrEqual(300);
  expect(await it.usage.reserve(aPromise(50, { key: { sender } }))).toEqual({ outcome: 'reserved' });
});
