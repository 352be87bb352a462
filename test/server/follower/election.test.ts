import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { DomainError } from '../../../core/errors.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import type { FollowerLease } from '../../../core/usage/follower-lease.js';
import type { UsageRecovery } from '../../../core/usage/epoch.js';
import { createFollower, type Follower, type FollowerDeps } from '../../../server/follower/follower.js';
import { createInstruments } from '../../../server/ops/instruments.js';
import { chainId, contract, funding, seconds } from '../../conformance/usage-requests.js';
import { until } from '../../support/until.js';
import { aChainConfig, aFollowed, anOperation, aPromise, usedOf, type Followed } from './followed.js';

let it: Followed;
let holder: string | undefined;
let isLeaseDown: boolean;
const followers: Follower[] = [];

beforeEach(async () => {
  it = await aFollowed();
  holder = undefined;
  isLeaseDown = false;
});
afterEach(async () => {
  for (const follower of followers.splice(0)) await follower.stop();
  await it.stop();
});

/** A lease that never expires by itself. */
function leaseOf(name: string): FollowerLease {
  return {
    hold: async () => {
      if (isLeaseDown) throw new DomainError('UNAVAILABLE', 'the lease cannot be asked for');
      return (holder ??= name) === name;
    },
    release: async () => {
      if (holder === name) holder = undefined;
    },
  };
}

function aFollower(name: string, change: Partial<FollowerDeps> = {}): Follower {
  const follower = createFollower({
    usage: it.usage,
    lease: leaseOf(name),
    chains: { get: () => it.chain },
    chainConfigs: () => [aChainConfig()],
    platformAccounts: () => [{ contract, fundingAddress: funding }],
    clock: it.clock,
    log: silentLogger,
    instruments: createInstruments(noMetrics),
    pollMs: 1,
    ...change,
  });
  followers.push(follower);
  return follower;
}

/** Sponsors an operation with this nonce and mines it deep enough to be settled. */
async function sponsorAndMine(nonce: bigint): Promise<void> {
  const promise = aPromise(20, { key: { nonce }, promise: { validUntil: seconds(1_000_000) } });
  expect(await it.usage.reserve(promise)).toEqual({ outcome: 'reserved' });
  it.chain.mine({ operations: [anOperation(5, { nonce })] });
  it.chain.mineEmpty(2);
}

test('of two replicas one settles, both show the head, and the other takes over when the first stops', async () => {
  const first = aFollower('first');
  const second = aFollower('second');
  first.start();
  await until('the first leads', () => first.ready());
  second.start();
  await until('the second is ready', () => second.ready());
  await sponsorAndMine(1n);
  await until('it is settled', async () => (await usedOf(it))[1] === 5);
  expect(holder).toBe('first');
  await until('the second shows the head', () => second.heads.get(chainId)?.number === it.chain.height);

  await first.stop();
  await sponsorAndMine(2n);
  await until('the second settles', async () => (await usedOf(it))[1] === 10);
  expect(holder).toBe('second');
});

test('two replicas that both believe that they lead settle everything once', async () => {
  const lease: FollowerLease = { hold: async () => true, release: async () => {} };
  for (const name of ['first', 'second', 'third']) aFollower(name, { lease }).start();
  for (let nonce = 1n; nonce <= 20n; nonce++) await sponsorAndMine(nonce);
  await until('all are settled', async () => (await it.usage.reservations(chainId)).length === 0);
  expect(await usedOf(it)).toEqual([20, 100]);
});

test('a leader that cannot read the chain gives up the lease to a replica that can', async () => {
  const blind = aFollower('blind', {
    chains: {
      get: () => {
        throw new DomainError('UNAVAILABLE', 'no node');
      },
    },
  });
  holder = 'blind';
  blind.start();
  await until('the lease is free', () => holder === undefined);
  aFollower('seeing').start();
  await sponsorAndMine(1n);
  await until('it is settled', async () => (await usedOf(it))[1] === 5);
});

test('the head is read also while the lease cannot be requested', async () => {
  isLeaseDown = true;
  const follower = aFollower('first');
  follower.start();
  await until('the head is known', () => follower.heads.get(chainId)?.number === it.chain.height);
  await sponsorAndMine(1n);
  isLeaseDown = false;
  await until('it is settled', async () => (await usedOf(it))[1] === 5);
});

test('a leader that finds the usage data lost recovers them, and then follows again', async () => {
  let isLost = true;
  const unlessLost = <T>(answer: () => Promise<T>): Promise<T> =>
    isLost
      ? Promise.reject(new DomainError('UNAVAILABLE', 'lost', { reason: 'USAGE_STORE_LOST' }))
      : answer();
  // Only a loss that the chain's config accepts ends at once.
  const recovery: UsageRecovery = {
    recover: async (_, acceptedLoss) => {
      if (acceptedLoss !== 'first.1') return 'waiting';
      // Requests learn about the loss, which needs the chain's head.
      if (follower.heads.get(chainId) === undefined) return 'waiting';
      isLost = false;
      return 'recovered';
    },
  };
  const usage: FollowerDeps['usage'] = {
    reservations: (...asked) => it.usage.reservations(...asked),
    liveCount: (id) => it.usage.liveCount(id),
    advance: (step) => it.usage.advance(step),
    takenSteps: (id) => it.usage.takenSteps(id),
    addBalance: (...asked) => it.usage.addBalance(...asked),
    accounts: (id) => it.usage.accounts(id),
    forgetAccounts: (...asked) => it.usage.forgetAccounts(...asked),
    setSuspended: (...asked) => it.usage.setSuspended(...asked),
    now: () => it.usage.now(),
    dropCommits: (id) => unlessLost(() => it.usage.dropCommits(id)),
    cursor: (id) => unlessLost(() => it.usage.cursor(id)),
  };
  const chainConfigs = () => [{ ...aChainConfig(), acceptedLoss: 'first.1' }];
  const follower = aFollower('first', { usage, recovery, chainConfigs });
  follower.start();
  await sponsorAndMine(1n);
  await until('it is settled', async () => (await usedOf(it))[1] === 5);
  expect(isLost).toBe(false);
});
