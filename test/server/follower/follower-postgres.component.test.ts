import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { makePartsAhead } from '../../../adapters/store/ledger/partitions.js';
import { parsePostgresUrl } from '../../../adapters/postgres/address.js';
import { createPostgres } from '../../../adapters/postgres/transactions.js';
import { createMemoryEpochMirror } from '../../../core/usage/epoch.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { createRecordIds } from '../../../server/ledger/record-ids.js';
import { contract, funding, seconds } from '../../conformance/usage-requests.js';
import { walletOf } from '../../fakes/chain.js';
import { sharedPostgres, type SharedPostgres } from '../../support/postgres.js';
import { openStore } from '../../adapters/usage/postgres-usage.js';
import {
  accountsOf,
  aChainConfig,
  aFollowed,
  anOperation,
  aPromise,
  gweiInWei,
  otherFunding,
  signedBytes,
  usedOf,
  type Followed,
} from './followed.js';

// Three replicas share one PostgreSQL: one follows the chain, the others promise, and any of them continues where the follower stopped.

let server: SharedPostgres;
let url: string;
let it: Followed;
let others: readonly [UsageStore, UsageStore];
beforeAll(async () => {
  server = await sharedPostgres();
});
afterAll(() => server.stop());
beforeEach(async () => {
  url = await server.createDatabase();
  const shared = { epochMirror: createMemoryEpochMirror() };
  it = await aFollowed(aChainConfig(), (clock) => openStore(url, { ...shared, clock, identity: 'one' }));
  const open = (identity: string) => openStore(url, { ...shared, clock: it.clock, identity });
  others = [await open('two'), await open('three')];
});
afterEach(async () => {
  await Promise.all([it.stop(), ...others.map((store) => store.stop())]);
});

const reserved = { outcome: 'reserved' };
const two = (nonce: bigint, expiry = 2_000) => {
  const [count, spend] = aPromise(100).limits;
  return aPromise(100, {
    key: { nonce },
    limits: [
      { ...count!, threshold: 2 },
      { ...spend!, threshold: 200 },
    ],
    promise: { validUntil: seconds(expiry) },
  });
};

test('a follower that was stopped past validUntil while operations were mined: nothing expires by the clock, and the next one settles them', async () => {
  const [second, third] = others;
  expect(await second.reserve(two(0n, 1_000))).toEqual(reserved);
  expect(await third.reserve(two(1n, 1_000))).toEqual(reserved);
  it.chain.mine({ operations: [anOperation(40)] });
  it.pass(120);
  // Both have expired and one was mined, and no follower has seen that: both promises still count.
  for (const store of [it.usage, ...others])
    expect(await store.reserve(two(2n))).toMatchObject({ outcome: 'limit', used: 2 });

  expect(await it.create(third).round()).toMatchObject({ settled: 1, released: 1 });
  expect(await usedOf(it)).toEqual([1, 40]);
  expect(await accountsOf(it)).toMatchObject([
    [expect.any(Number), 0],
    [expect.any(Number), 0],
  ]);
  expect(await second.reserve(two(2n))).toEqual(reserved);
  expect(await third.reserve(two(3n))).toMatchObject({ outcome: 'limit', index: 0, used: 2 });
});

test('a reorganisation that another replica finds: it takes back what was counted, and an operation that is mined again counts once', async () => {
  const [second, third] = others;
  await second.reserve(two(0n));
  const before = it.chain.height;
  it.chain.mine({ operations: [anOperation(40)] });
  it.pass(2);
  expect(await it.follower.round()).toMatchObject({ settled: 1 });
  it.chain.reorganise(before);
  it.pass(2);
  it.chain.mine({ operations: [anOperation(45)] });
  it.pass(2);
  const finds = it.create(second);
  expect(await finds.round()).toMatchObject({ restored: 1, settled: 0 });
  expect(await finds.round()).toMatchObject({ settled: 1, unattributed: 0 });
  it.pass(1);
  expect(await it.create(third).round()).toMatchObject({ restored: 0, settled: 0, unattributed: 0 });
  expect(await usedOf(it)).toEqual([1, 45]);
  expect(await third.reserve(two(1n))).toEqual(reserved);
  expect(await second.reserve(two(2n))).toMatchObject({ outcome: 'limit', index: 0, used: 2 });
});

test('a nonce that two paymasters of one contract have promised: both needs are reserved of the deposit, the one that paid is counted, the other is released', async () => {
  const [second, third] = others;
  it.watch([
    { contract, fundingAddress: funding },
    { contract, fundingAddress: otherFunding },
  ]);
  it.chain.mine({ transfers: [[walletOf(contract, otherFunding), 1000n * gweiInWei]] });
  it.pass(2);
  await it.follower.round();
  expect(await second.reserve(aPromise(600, { key: { paymasterId: 'pm-1' } }))).toEqual(reserved);
  const theirs = signedBytes('SPONSORED', 2, { wallet: otherFunding });
  const promise = { fundingAddress: otherFunding, digest: theirs.digest };
  const other = aPromise(400, { key: { paymasterId: 'pm-2' }, promise });
  expect(await third.reserve(other)).toEqual(reserved);
  // The deposit of 1000 is promised to its last unit.
  const more = aPromise(1, { key: { paymasterId: 'pm-2', nonce: 1n }, promise });
  expect(await second.reserve(more)).toMatchObject({ outcome: 'deposit' });

  it.chain.mine({ operations: [anOperation(40, { input: theirs.input })] });
  it.pass(2);
  expect(await it.create(second).round()).toMatchObject({ settled: 1, released: 1 });
  expect(await usedOf(it)).toEqual([1, 40]);
  expect(await second.reserve(more)).toEqual(reserved);
});

test('the month has no part for movements: operations settle, their blocks are not covered, and later ones are, once the part is there', async () => {
  const [second, third] = others;
  const recorded = { ids: createRecordIds(it.clock), organisationOf: () => 'acme' };
  const follower = it.create(third, recorded);
  await follower.round();
  const parts = await server.query(
    url,
    `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'ledger.movement'::regclass`,
  );
  for (const { name } of parts) await server.query(url, `DROP TABLE ${String(name)}`);
  expect(await second.reserve(two(0n))).toEqual(reserved);
  const mined = it.chain.mine({ operations: [anOperation(40)] }).number;
  it.pass(2);
  expect(await follower.round()).toMatchObject({ settled: 1 });
  expect(await usedOf(it)).toEqual([1, 40]);

  const postgres = createPostgres({ address: parsePostgresUrl('url', url) });
  await makePartsAhead(postgres, it.clock.now());
  await postgres.stop();
  it.chain.mine({ operations: [anOperation(30, { nonce: 1n })] });
  it.pass(2);
  await follower.round();
  expect(await server.query(url, 'SELECT from_block FROM ledger.covered')).toEqual([
    { from_block: String(mined + 1) },
  ]);
  expect(await server.query(url, 'SELECT amount_wei FROM ledger.movement')).toMatchObject([
    { amount_wei: String(30n * gweiInWei) },
  ]);
});
