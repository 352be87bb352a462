import { afterEach, expect, test } from '@jest/globals';
import { KubeApiError } from '../../adapters/kube/api-error.js';
import { createLeaderElection, type LeaderElection } from '../../adapters/kube/leader-election.js';
import type { KubeRequest, KubeTransport } from '../../adapters/kube/transport.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import { systemClock } from '../../core/units/time.js';
import { until } from '../support/until.js';

// Two or more candidates on one Lease with optimistic locking.

type Lease = { metadata: { name: string; resourceVersion?: string }; spec: Record<string, unknown> };

/** One Lease as an API server keeps it: every write must carry the version that it read. */
function createLeaseServer() {
  let stored: Lease | undefined;
  let version = 0;
  const unreachable = new Set<string>();
  const writes: string[] = [];
  const reads: string[] = [];

  function store(lease: Lease, who: string): Lease {
    version += 1;
    writes.push(who);
    stored = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(version) } };
    return stored;
  }

  function answer({ method, body }: KubeRequest, who: string): Lease {
    if (unreachable.has(who))
      throw new KubeApiError({ status: 0, reason: 'Unreachable', message: 'no route' });
    const lease = body as Lease;
    if (method === 'GET') reads.push(who);
    if (method === 'GET' && stored === undefined) throw refusal(404);
    if (method === 'POST' && stored !== undefined) throw refusal(409);
    if (method === 'PUT' && lease.metadata.resourceVersion !== stored?.metadata.resourceVersion)
      throw refusal(409);
    return method === 'GET' && stored !== undefined ? stored : store(lease, who);
  }

  return {
    unreachable,
    writes,
    reads: (who: string): number => reads.filter((each) => each === who).length,
    holder: () => stored?.spec['holderIdentity'],
    spec: () => stored?.spec,
    transportFor: (who: string): KubeTransport => ({
      request: async (call) => structuredClone(answer(call, who)),
      stream: () => Promise.reject(refusal(404)),
      stop: async () => {},
    }),
  };
}

const refusal = (status: number) => new KubeApiError({ status, reason: 'Conflict', message: 'refused' });

const started: LeaderElection[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((election) => election.stop()));
});

/** Milliseconds; only the tests move it, so nothing depends on how long a loaded machine stands still. */
let now = 0;
const usual = { leaseMs: 30_000, renewDeadlineMs: 20_000, monotonic: () => now };

function elect(
  server: ReturnType<typeof createLeaseServer>,
  identity: string,
  change: Partial<typeof usual> = {},
): LeaderElection {
  const election = createLeaderElection({
    transport: server.transportFor(identity),
    namespace: 'system',
    name: 'operator',
    identity,
    log: silentLogger,
    metrics: noMetrics,
    ...usual,
    ...change,
    clock: systemClock,
    random: () => 0.5,
    retryMs: 5,
  });
  started.push(election);
  election.start();
  return election;
}

test('of many candidates exactly one leads', async () => {
  const server = createLeaseServer();
  const elections = ['a', 'b', 'c', 'd'].map((identity) => elect(server, identity));
  await Promise.race(elections.map((election) => election.elected));
  const written = server.writes.length;
  await until('the leader has renewed', () => server.writes.length >= written + 3);
  expect(elections.filter((election) => election.isLeader())).toHaveLength(1);
  expect(new Set(server.writes).size).toBe(1);
});

test('a leader that cannot renew may not write after the deadline, reports the loss, and another takes over', async () => {
  const server = createLeaseServer();
  const first = elect(server, 'first');
  await first.elected;
  const second = elect(server, 'second');
  await until('the standby has looked', () => server.reads('second') > 0);
  server.unreachable.add('first');
  now += usual.renewDeadlineMs + 1;
  await first.lost;
  expect([first.isLeader(), first.mayWrite(), second.isLeader()]).toEqual([false, false, false]);
  now += usual.leaseMs;
  await second.elected;
  expect(second.mayWrite()).toBe(true);
  expect(server.spec()?.['leaseTransitions']).toBe(1);
});

test('a leader whose process was stopped may not write when it wakes, before any timer has fired', async () => {
  const server = createLeaseServer();
  let asleep = 0;
  const election = elect(server, 'sleeper', { monotonic: () => now + asleep });
  await election.elected;
  expect(election.mayWrite()).toBe(true);
  asleep = 25_000;
  expect(election.mayWrite()).toBe(false);
});

test('a clean stop hands over at once: the standby need not wait for the end of the lease', async () => {
  const server = createLeaseServer();
  const first = elect(server, 'first');
  await first.elected;
  const second = elect(server, 'second');
  await first.stop();
  expect(server.holder() === '' || server.holder() === 'second').toBe(true);
  // No time passes, so no lease ends.
  await second.elected;
});

test('a candidate that is stopped while it takes the lease gives it back', async () => {
  const server = createLeaseServer();
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const slow = {
    ...server,
    transportFor(who: string): KubeTransport {
      const transport = server.transportFor(who);
      return {
        ...transport,
        async request(call) {
          if (call.method === 'POST') {
            asked.resolve();
            await answered.promise;
          }
          return transport.request(call);
        },
      };
    },
  };
  const election = elect(slow, 'late');
  await asked.promise;
  const stopping = election.stop();
  answered.resolve();
  await stopping;
  expect(server.writes).toHaveLength(2);
  expect(server.holder()).toBe('');
});

test('stopping a standby leaves the lease alone', async () => {
  const server = createLeaseServer();
  const first = elect(server, 'first');
  await first.elected;
  const second = elect(server, 'second');
  await second.stop();
  expect(server.holder()).toBe('first');
  expect(first.isLeader()).toBe(true);
});

test('a lease that keeps changing is never taken, however old its times are', async () => {
  const server = createLeaseServer();
  const leader = elect(server, 'leader');
  await leader.elected;
  const standby = elect(server, 'standby');
  for (let waited = 0; waited < 2 * usual.leaseMs; waited += 1_000) {
    const [renewals, looks] = [server.writes.length, server.reads('standby')];
    await until('it is renewed', () => server.writes.length > renewals + 1);
    // The second look after this moment began after it.
    await until('the standby has looked', () => server.reads('standby') > looks + 1);
    now += 1_000;
  }
  expect(standby.isLeader()).toBe(false);
  expect(new Set(server.writes)).toEqual(new Set(['leader']));
});

test('the record names the holder, its times with six digits, and counts the transitions', async () => {
  const server = createLeaseServer();
  await elect(server, 'first').elected;
  expect(server.spec()).toMatchObject({ holderIdentity: 'first', leaseDurationSeconds: 30 });
  expect(server.spec()?.['renewTime']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
});
