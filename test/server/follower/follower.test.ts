import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Chain } from '../../../core/chain/chain.js';
import type { ChainConfig } from '../../../core/config/chain-config.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import { createFollower, type Follower } from '../../../server/follower/follower.js';
import { createInstruments } from '../../../server/ops/instruments.js';
import { chainId, contract, funding, seconds } from '../../conformance/usage-requests.js';
import { FakeChain } from '../../fakes/chain.js';
import {
  aChainConfig,
  aFollowed,
  anOperation,
  aPromise,
  signedBytes,
  usedOf,
  type Followed,
} from './followed.js';

let it: Followed;
let configs: ChainConfig[];
let follower: Follower;
const otherChain = new FakeChain({ chainId: 5, time: 1 });

beforeEach(async () => {
  it = await aFollowed();
  configs = [aChainConfig()];
  follower = createFollower({
    usage: it.usage,
    chains: { get: (endpoint): Chain => (endpoint.chainId === chainId ? it.chain : otherChain) },
    chainConfigs: () => configs,
    platformAccounts: () => [{ contract, fundingAddress: funding }],
    clock: it.clock,
    log: silentLogger,
    instruments: createInstruments(noMetrics),
    pollMs: 1,
  });
});
afterEach(async () => {
  await follower.stop();
  await follower.stop();
  await it.stop();
});

/** Lets the loops run until the condition holds; the test's time limit ends a wait that never succeeds. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise(setImmediate);
}

test('a started follower settles what is mined and shows the head', async () => {
  expect(follower.ready()).toBe(false);
  expect(follower.heads.get(chainId)).toBeUndefined();
  await it.usage.reserve(aPromise(100));
  follower.start();
  await until(() => follower.ready());
  it.chain.mine({ operations: [anOperation(40)] });
  it.chain.mineEmpty(2);
  await until(async () => (await usedOf(it))[1] === 40);
  expect(follower.heads.get(chainId)?.number).toBe(it.chain.height);
});

test('a chain that is added is followed, and one that was taken away is not', async () => {
  follower.start();
  await until(() => follower.heads.get(chainId) !== undefined);
  configs = [aChainConfig({ chainId: 5 })];
  await until(() => follower.heads.get(5) !== undefined && follower.heads.get(chainId) === undefined);
});

test('a dead chain does not delay the others, nor readiness for ever', async () => {
  otherChain.isDown = true;
  configs = [aChainConfig({ chainId: 5 }), aChainConfig()];
  follower.start();
  await until(() => follower.ready());
  expect(follower.heads.get(chainId)).toBeDefined();
  expect(follower.heads.get(5)).toBeUndefined();
  otherChain.isDown = false;
  await until(() => follower.heads.get(5) !== undefined);
});

test('a stopped follower does nothing', async () => {
  follower.start();
  await until(() => follower.ready());
  await follower.stop();
  const cursor = await it.usage.cursor(chainId);
  it.chain.mineEmpty(3);
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
  expect(await it.usage.cursor(chainId)).toEqual(cursor);
});

test('logs that one URL of a chain hides are read from another one', async () => {
  const honest = it.chain.twin();
  const urls = ['http://first', 'http://second'];
  const bytes = signedBytes('SPONSORED', 1);
  await follower.stop();
  follower = createFollower({
    usage: it.usage,
    chains: {
      get: ({ only = 0 }): Chain => (only % urls.length === 1 ? honest : it.chain),
    },
    chainConfigs: () => [aChainConfig({ rpc: { urls } })],
    platformAccounts: () => [{ contract, fundingAddress: funding }],
    clock: it.clock,
    log: silentLogger,
    instruments: createInstruments(noMetrics),
    pollMs: 1,
  });
  await it.usage.reserve(aPromise(100, { promise: { digest: bytes.digest } }));
  it.chain.hidesLogs = true;
  it.chain.mine({ operations: [anOperation(40, { input: bytes.input })] });
  it.chain.mine({ time: seconds(1001) });
  it.chain.mineEmpty(2);
  follower.start();
  await until(async () => (await it.usage.cursor(chainId))?.blockNumber === it.chain.height - 2);
  expect(await usedOf(it)).toEqual([1, 100]);
  it.chain.mineEmpty(4);
  honest.follow(it.chain);
  await until(async () => (await usedOf(it))[1] === 40);
});
