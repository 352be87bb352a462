import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { createLeaderElection, type LeaderElection } from '../../adapters/kube/leader-election.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import { systemClock } from '../../core/units/time.js';
import { until } from '../support/until.js';
import { startControlPlane, type ControlPlane } from '../support/cluster/control-plane.js';

// One Lease of a real API server and several candidates. A busy machine may stand still for seconds.

let cluster: ControlPlane;
const candidates: LeaderElection[] = [];
beforeAll(async () => {
  cluster = await startControlPlane();
  cluster.kubectl(['create', 'namespace', 'system']);
}, 300_000);
afterEach(() => Promise.all(candidates.splice(0).map((candidate) => candidate.stop())));
afterAll(() => cluster?.stop());

function candidate(name: string, identity: string, leaseMs: number): LeaderElection {
  const election = createLeaderElection({
    transport: cluster.transport(),
    namespace: 'system',
    name,
    identity,
    log: silentLogger,
    metrics: noMetrics,
    clock: systemClock,
    monotonic: () => performance.now(),
    random: Math.random,
    leaseMs,
    renewDeadlineMs: (leaseMs * 3) / 4,
    retryMs: 200,
  });
  candidates.push(election);
  election.start();
  return election;
}

test('a leader stays leader by renewing, longer than one renewal is valid', async () => {
  const leaseMs = 8_000;
  const leader = candidate('renewed', 'one', leaseMs);
  await leader.elected;
  const electedAt = performance.now();
  const standby = candidate('renewed', 'two', leaseMs);
  await until(
    'longer than the lease has passed',
    () => performance.now() - electedAt > leaseMs + 1_000,
    2 * leaseMs,
  );
  expect(leader.isLeader() && leader.mayWrite()).toBe(true);
  expect(standby.isLeader()).toBe(false);
}, 240_000);

test('a leader that stops hands over before its lease would expire', async () => {
  const leaseMs = 120_000;
  const leader = candidate('released', 'one', leaseMs);
  await leader.elected;
  const standby = candidate('released', 'two', leaseMs);
  await until('the standby has seen the lease', () => lease('released').includes('one'));
  await leader.stop();
  const releasedAt = performance.now();
  await standby.elected;
  expect(performance.now() - releasedAt).toBeLessThan(leaseMs);
  expect(lease('released')).toContain('two');
}, 240_000);

function lease(name: string): string {
  return cluster.kubectl(['get', 'lease', '-n', 'system', name, '-o=jsonpath={.spec.holderIdentity}']);
}
