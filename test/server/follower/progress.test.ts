import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createMetrics } from '../../../adapters/metrics/prometheus.js';
import type { Chain } from '../../../core/chain/chain.js';
import { silentLogger } from '../../../core/log.js';
import type { FollowerLease } from '../../../core/usage/follower-lease.js';
import { createFollower, type Follower } from '../../../server/follower/follower.js';
import { createInstruments } from '../../../server/ops/instruments.js';
import { createOps } from '../../../server/ops/ops.js';
import { servingChecks } from '../../../server/serving-checks.js';
import { chainId, contract, funding } from '../../conformance/usage-requests.js';
import { until } from '../../support/until.js';
import { aChainConfig, aFollowed, type Followed } from './followed.js';

let it: Followed;
let followers: Follower[];
let told: [chainId: number, trouble: string][];
const metrics = createMetrics({ process: false });

beforeEach(async () => {
  it = await aFollowed();
  followers = [];
  told = [];
});
afterEach(async () => {
  await Promise.all(followers.map((follower) => follower.stop()));
  await it.stop();
});

function follow(lease: FollowerLease = { hold: async () => true, release: async () => {} }): Follower {
  const follower = createFollower({
    usage: it.usage,
    lease,
    chains: { get: (): Chain => it.chain },
    chainConfigs: () => [aChainConfig()],
    platformAccounts: () => [{ contract, fundingAddress: funding }],
    clock: it.clock,
    log: silentLogger,
    instruments: createInstruments(metrics),
    onFollowing: (chainId, trouble) => trouble !== undefined && void told.push([chainId, trouble]),
    pollMs: 1,
  });
  followers.push(follower);
  follower.start();
  return follower;
}

const headIs = (follower: Follower, block: number) =>
  until('the head is read', () => follower.heads.get(chainId)?.number === block);
const isStalled = (follower: Follower) =>
  until('the chain counts as stalled', () => follower.stalls().length > 0);
const logsFail = () => (it.chain.refuses = (asked) => 'logs' in asked);

describe('a chain whose settled block does not move for five minutes although the chain goes on', () => {
  test('is reported with the reason, by the replica that follows it, until it moves', async () => {
    const follower = follow();
    await headIs(follower, it.chain.height);
    const settled = (await it.usage.cursor(chainId))!.blockNumber;
    logsFail();
    it.pass(1);
    await headIs(follower, it.chain.height);
    it.clock.advance(280_000);
    it.chain.mine();
    await headIs(follower, it.chain.height);
    expect(follower.stalls()).toEqual([]);
    // The time counts from the round that saw it move last, which may have come after the next block.
    it.clock.advance(30_000);
    await isStalled(follower);
    expect(follower.stalls()).toMatchObject([{ chainId, settled, trouble: 'Failing' }]);
    await until('it is told', () => told.length > 0);
    expect(told[0]).toEqual([chainId, 'Failing']);
    it.chain.refuses = () => false;
    await until('it is followed again', () => follower.stalls().length === 0);
  });

  test('is seen by replicas that do not follow it, also when the lease goes from one to the next', async () => {
    let holder = 0;
    const others = [0, 1, 2].map((own) =>
      follow({ hold: async () => holder === own, release: async () => void (holder = (holder + 1) % 3) }),
    );
    for (const follower of others) await headIs(follower, it.chain.height);
    logsFail();
    it.pass(1);
    for (const follower of others) await headIs(follower, it.chain.height);
    it.clock.advance(301_000);
    for (const follower of others) await isStalled(follower);
    await until('the metric shows it', async () =>
      /paymaster_follower_stalled_seconds\{chain="31337"\} 3\d\d/.test((await metrics.render()).body),
    );
  });

  test('because the node does not show that block', async () => {
    const follower = follow();
    await headIs(follower, it.chain.height);
    it.chain.shown = it.chain.height - 4;
    await headIs(follower, it.chain.shown);
    it.clock.advance(301_000);
    await isStalled(follower);
    expect(follower.stalls()).toMatchObject([{ trouble: 'Waiting' }]);
  });
});

test.each([
  { name: 'a chain that makes no blocks', change: () => {} },
  { name: 'a node that does not answer', change: () => void (it.chain.isDown = true) },
])('$name is not stalled', async ({ change }) => {
  const follower = follow();
  await headIs(follower, it.chain.height);
  change();
  it.clock.advance(3_600_000);
  await until('some rounds', async () =>
    it.chain.isDown
      ? /paymaster_follower_failures_total\{chain="31337"\} [2-9]/.test((await metrics.render()).body)
      : follower.ready(),
  );
  expect(follower.stalls()).toEqual([]);
});

test('/readyz names a stalled chain and what to do, and the replica still takes traffic', async () => {
  const stall = { chainId, settled: 7, confirmed: 90, trouble: 'Failing', forMs: 400_000 } as const;
  const ops = createOps({
    checks: servingChecks({
      usage: it.usage,
      view: { synced: true, isStale: () => false, canSign: () => true, chains: () => [] },
      follower: { ready: () => true, stalls: () => [stall] },
      isWarm: () => true,
      clock: it.clock,
    }),
    metrics,
    instruments: createInstruments(metrics),
    log: silentLogger,
  });
  try {
    const reports = await ops.check();
    expect(reports.filter(({ ready }) => !ready)).toEqual([
      {
        name: 'chains-followed',
        ready: false,
        reason: `chain ${chainId}: block 7 has been the last settled one for 6 minutes, 90 could be settled (rounds fail, see the log)`,
        action: expect.stringContaining('docs/runbooks.md'),
        isAdvice: true,
      },
    ]);
  } finally {
    ops.stop();
  }
});
