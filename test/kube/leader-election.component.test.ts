import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { KubeTransport } from '../../adapters/kube/transport.js';
import { createLeaderElection, type LeaderElection } from '../../adapters/kube/leader-election.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import { systemClock } from '../../core/units/time.js';
import { until } from '../support/until.js';
import { startControlPlane, type ControlPlane } from '../support/cluster/control-plane.js';

// One Lease of a real API server and several candidates. Time is the test's: a busy machine may stand still for seconds.

let cluster: ControlPlane;
let transport: KubeTransport;
const candidates: LeaderElection[] = [];
beforeAll(async () => {
  cluster = await startControlPlane();
  transport = cluster.transport();
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'system' } };
  await transport.request({ method: 'POST', path: '/api/v1/namespaces', body });
});
let now = 0;
afterEach(() => Promise.all(candidates.splice(0).map((candidate) => candidate.stop())));
afterAll(async () => {
  await transport?.stop();
  await cluster?.stop();
});

const leaseMs = 15_000;

function candidate(name: string, identity: string) {
  let calls = 0;
  const election = createLeaderElection({
    transport: {
      ...transport,
      async request(call) {
        const answer = await transport.request(call);
        calls += 1;
        return answer;
      },
    },
    namespace: 'system',
    name,
    identity,
    log: silentLogger,
    metrics: noMetrics,
    clock: systemClock,
    monotonic: () => now,
    random: Math.random,
    leaseMs,
    renewDeadlineMs: 10_000,
    retryMs: 50,
  });
  candidates.push(election);
  election.start();
  return { election, calls: () => calls };
}

test('a leader stays leader by renewing, longer than one renewal is valid', async () => {
  const leader = candidate('renewed', 'one');
  await leader.election.elected;
  const standby = candidate('renewed', 'two');
  for (let waited = 0; waited <= 2 * leaseMs; waited += 1_000) {
    const [renewals, looks] = [leader.calls(), standby.calls()];
    // The second call after this moment began after it.
    await until('it is renewed', () => leader.calls() > renewals + 1);
    await until('the standby has looked', () => standby.calls() > looks + 1);
    now += 1_000;
  }
  expect(leader.election.isLeader() && leader.election.mayWrite()).toBe(true);
  expect(standby.election.isLeader()).toBe(false);
});

test('a leader that stops hands over before its lease would expire', async () => {
  const leader = candidate('released', 'one');
  await leader.election.elected;
  const standby = candidate('released', 'two');
  await until('the standby has seen the lease', () => standby.calls() > 0);
  expect(await holder('released')).toBe('one');
  // No time passes, so no lease expires.
  await leader.election.stop();
  await standby.election.elected;
  expect(await holder('released')).toBe('two');
});

async function holder(name: string): Promise<string | undefined> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/system/leases/${name}`;
  const lease = await transport.request({ method: 'GET', path });
  return (lease as { readonly spec: { readonly holderIdentity?: string } }).spec.holderIdentity;
}
