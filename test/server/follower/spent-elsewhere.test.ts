import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { maxLookedFor } from '../../../server/follower/step-readings.js';
import { anAddress, chainId, seconds } from '../../conformance/usage-requests.js';
import { accountsOf, aFollowed, anOperation, aPromise, usedOf, type Followed } from './followed.js';

// Long before a promise expires, an operation that somebody else paid for uses its nonce.

const stranger = anAddress(0xc1);
const nobody = anAddress(0);

let it: Followed;
beforeEach(async () => {
  it = await aFollowed();
});
afterEach(() => it.stop());

const logQueries = () => it.chain.requests.get('eth_getLogs') ?? 0;

test.each([
  { name: 'another paymaster', contract: stranger },
  { name: 'the account itself', contract: nobody },
])('a confirmed operation of its nonce that $name paid for releases it at once', async ({ contract }) => {
  await it.usage.reserve(aPromise(100));
  await it.usage.reserve(aPromise(70, { key: { nonce: 1n << 64n } }));
  it.chain.mine({ operations: [anOperation(40, { contract })] });
  expect(await it.follower.round()).toMatchObject({ released: 0 });
  it.pass(2);
  expect(await it.follower.round()).toMatchObject({ released: 1, settled: 0, unattributed: 0 });
  expect(await usedOf(it)).toEqual([1, 70]);
  expect((await accountsOf(it))[1]).toEqual([1000, 70]);
});

test('an event of a nonce that the EntryPoint says is unused releases nothing', async () => {
  await it.usage.reserve(aPromise(100));
  it.chain.mine({ operations: [anOperation(40, { contract: stranger })] });
  it.pass(2);
  it.chain.nonceOverride = 0n;
  expect(await it.follower.round()).toMatchObject({ released: 0, settled: 0 });
  expect(await usedOf(it)).toEqual([1, 100]);
});

test('a deep reorganisation that removes the operation brings the promise back', async () => {
  await it.usage.reserve(aPromise(100));
  const before = it.chain.height;
  it.chain.mine({ operations: [anOperation(40, { contract: stranger })] });
  it.pass(3);
  expect(await it.follower.round()).toMatchObject({ released: 1 });
  it.chain.reorganise(before);
  it.chain.mine({ operations: [anOperation(60)] });
  it.pass(4);
  expect(await it.follower.round()).toMatchObject({ restored: 1 });
  expect(await it.follower.round()).toMatchObject({ settled: 1, unattributed: 0 });
  expect(await usedOf(it)).toEqual([1, 60]);
});

test('an operation of ours whose event only the query by sender shows is settled with it', async () => {
  await it.usage.reserve(aPromise(100));
  it.chain.mine({ operations: [anOperation(40)] });
  it.pass(2);
  it.chain.hidesByPaymaster = true;
  expect(await it.follower.round()).toMatchObject({ settled: 1 });
  expect(await usedOf(it)).toEqual([1, 40]);
});

test.each([
  { name: 'no promise', senders: 0, queries: 0 },
  { name: 'a few promises', senders: 3, queries: 1 },
  { name: 'more than one query takes', senders: 51, queries: 2 },
  { name: 'more than a step looks for', senders: maxLookedFor + 5, queries: 2 },
])('with $name a step asks for $queries lists of events more', async ({ senders, queries }) => {
  const before = logQueries();
  it.pass(1);
  await it.follower.round();
  const usual = logQueries() - before;
  for (let n = 0; n < senders; n++)
    await it.usage.reserve(
      aPromise(1, { key: { sender: anAddress(0x5000 + n) }, promise: { validUntil: seconds(900 + n) } }),
    );
  const promised = logQueries();
  it.pass(1);
  await it.follower.round();
  expect(logQueries() - promised - usual).toBe(queries);
  expect(await it.usage.liveCount(chainId)).toBe(senders);
});
