import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { freshUserOp, rpc } from '../system/support/client.js';
import { until } from '../support/until.js';
import type { Component } from '../../server/standalone/cluster/component.js';
import { startInstallation, type Installation } from './support/installation.js';
import { startLoad } from './support/load.js';

// What is served outlives the control plane. `make soak` sets the longer outage.

const outageMs = Number(process.env['PAYMASTER_TEST_OUTAGE_SECONDS'] ?? 15) * 1000;

let installation: Installation;
let isOver = false;
beforeAll(async () => {
  installation = await startInstallation();
  for (const operator of installation.operators) void supervise(operator);
}, 180_000);
afterAll(async () => {
  isOver = true;
  await installation?.cluster.stop();
}, 60_000);

const kubectl = (...args: string[]): string => installation.cluster.plane.kubectl(args);
const lasts = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const suspend = (isSuspended: boolean): string =>
  kubectl(
    'patch',
    'pm',
    'shop',
    '-n',
    'quickstart',
    '--type=merge',
    '-p',
    `{"spec":{"suspended":${isSuspended}}}`,
  );

function ask(replica: Component) {
  return rpc(installation.rpcUrl(replica), 'pm_sponsorUserOperation', [
    freshUserOp(installation.connection),
    { mode: 'SPONSORED', calculateGasLimits: false },
  ]);
}

/** As a kubelet does: a leader that cannot renew its lease ends, and is started again. */
async function supervise(component: Component): Promise<void> {
  while (!isOver) {
    await component.ended();
    if (!isOver) await component.restart();
  }
}

/** A change made by kubectl reaches every replica, and is taken back. */
async function expectConvergence(): Promise<number> {
  const started = performance.now();
  suspend(true);
  await until(
    'every replica refuses',
    async () =>
      (await Promise.all(installation.replicas.map(ask))).every(({ reason }) => reason === 'SUSPENDED'),
    60_000,
  );
  const took = performance.now() - started;
  suspend(false);
  await until(
    'every replica sponsors',
    async () =>
      (await Promise.all(installation.replicas.map(ask))).every(
        ({ status, reason }) => status === 200 && reason === undefined,
      ),
    60_000,
  );
  return took;
}

test(
  'an API server that hangs costs no request, and what changes afterwards is served',
  async () => {
    const { apiServer } = installation.cluster.plane;
    const load = startLoad(installation);
    apiServer.signal('SIGSTOP');
    await lasts(outageMs);
    const { sent, failures } = await load.stop();
    apiServer.signal('SIGCONT');
    expect(failures).toEqual([]);
    expect(sent).toBeGreaterThan(100);
    await expectConvergence();
  },
  outageMs + 150_000,
);

test(
  'an API server that is killed costs no request; a replica that restarts meanwhile serves its snapshot',
  async () => {
    const { apiServer } = installation.cluster.plane;
    const [first, ...others] = installation.replicas;
    if (first === undefined) throw new Error('no replica');
    const load = startLoad({ ...installation, replicas: others });
    apiServer.signal('SIGKILL');
    await apiServer.ended();
    first.signal('SIGKILL');
    await first.ended();
    await first.restart();
    const answer = await ask(first);
    const metrics = await (await fetch(`${first.origin}/metrics`)).text();
    await lasts(outageMs / 3);
    const { sent, failures } = await load.stop();
    await apiServer.restart();
    expect(answer).toMatchObject({ status: 200, result: { mode: 'SPONSORED' } });
    expect(Number(/^paymaster_config_confirmed_age_seconds (\S+)$/m.exec(metrics)?.[1])).toBeGreaterThan(0);
    expect(readFileSync(first.logFile, 'utf8')).toContain('serving the snapshot on disk');
    expect(failures).toEqual([]);
    expect(sent).toBeGreaterThan(100);
    await expectConvergence();
  },
  outageMs + 180_000,
);

const holder = (): string =>
  kubectl(
    'get',
    'lease',
    'paymaster-operator',
    '-n',
    'paymaster-system',
    '-o',
    'jsonpath={.spec.holderIdentity}',
  );

/** The operator that leads now, when both run and one of them holds the lease. */
async function presentLeader(): Promise<{ readonly leader: Component; readonly identity: string }> {
  const { operators } = installation;
  const leading = (): Component | undefined => operators.find(({ name }) => holder().startsWith(`${name}_`));
  await until(
    'both run and one leads',
    () => operators.every((each) => each.isRunning()) && leading() !== undefined,
    60_000,
  );
  const leader = leading();
  if (leader === undefined) throw new Error('nobody leads');
  return { leader, identity: holder() };
}

/** Milliseconds until somebody else holds the lease. */
async function successionAfter(identity: string): Promise<number> {
  const startedAt = performance.now();
  await until('another leads', () => !['', identity].includes(holder()), 40_000);
  return performance.now() - startedAt;
}

test('a leader that is killed is replaced within 24 s, and the new one works', async () => {
  const { leader, identity } = await presentLeader();
  leader.signal('SIGKILL');
  expect(await successionAfter(identity)).toBeLessThan(24_000);
  await expectConvergence();
}, 200_000);

test('a leader that hangs loses the lease, ends when it wakes, and writes nothing', async () => {
  const { leader, identity } = await presentLeader();
  leader.signal('SIGSTOP');
  const succession = await successionAfter(identity);
  const before = writesOf(leader.name);
  const ended = leader.ended();
  leader.signal('SIGCONT');
  expect(await ended).toBe(1);
  // The pod that is started again in its place begins as a standby, which writes nothing either.
  expect(writesOf(leader.name)).toBe(before);
  expect(before).toBeGreaterThan(0);
  expect(succession).toBeLessThan(24_000);
  await expectConvergence();
}, 200_000);

test('a leader that is stopped hands over at once', async () => {
  const { leader, identity } = await presentLeader();
  const ended = leader.ended();
  leader.signal('SIGTERM');
  expect(await ended).toBe(0);
  expect(await successionAfter(identity)).toBeLessThan(8_000);
  await expectConvergence();
}, 200_000);

/** Changes that the API server accepted from one pod, by the user agent that it names itself with. */
function writesOf(pod: string): number {
  return installation.cluster.plane
    .auditLog()
    .split('\n')
    .filter((line) => line.includes(`paymaster-operator (${pod})`))
    .filter((line) => /"verb":"(create|update|patch|delete)"/.test(line) && /"code":20[01]/.test(line))
    .length;
}
