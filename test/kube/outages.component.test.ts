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
beforeAll(async () => {
  installation = await startInstallation();
}, 180_000);
afterAll(() => installation?.cluster.stop(), 60_000);

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

/** A leader that cannot renew its lease ends; a kubelet would start it again. */
async function reviveOperators(): Promise<void> {
  for (const operator of installation.operators) if (!operator.isRunning()) await operator.restart();
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
    await reviveOperators();
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
    await reviveOperators();
    expect(answer).toMatchObject({ status: 200, result: { mode: 'SPONSORED' } });
    expect(Number(/^paymaster_config_confirmed_age_seconds (\S+)$/m.exec(metrics)?.[1])).toBeGreaterThan(0);
    expect(readFileSync(first.logFile, 'utf8')).toContain('serving the snapshot on disk');
    expect(failures).toEqual([]);
    expect(sent).toBeGreaterThan(100);
    await expectConvergence();
  },
  outageMs + 180_000,
);

test('a leader that is killed is replaced within 24 s, and the new one works', async () => {
  const [first, second] = installation.operators;
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
  await until('somebody leads', () => holder() !== '', 30_000);
  const [leader, standby] = holder().startsWith(`${first.name}_`) ? [first, second] : [second, first];
  leader.signal('SIGKILL');
  await leader.ended();
  const killedAt = performance.now();
  await until('the standby leads', () => holder().startsWith(`${standby.name}_`), 30_000);
  expect(performance.now() - killedAt).toBeLessThan(24_000);
  await expectConvergence();
  await leader.restart();
}, 120_000);

test('a leader that hangs loses the lease, ends when it wakes, and writes nothing', async () => {
  const [first, second] = installation.operators;
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
  const [leader, standby] = holder().startsWith(`${first.name}_`) ? [first, second] : [second, first];
  leader.signal('SIGSTOP');
  const stoppedAt = performance.now();
  await until('the standby leads', () => holder().startsWith(`${standby.name}_`), 30_000);
  expect(performance.now() - stoppedAt).toBeLessThan(24_000);
  const writesBefore = writesOf(leader.name);
  leader.signal('SIGCONT');
  expect(await leader.ended()).toBe(1);
  expect(writesOf(leader.name)).toBe(writesBefore);
  await expectConvergence();
  await leader.restart();
}, 120_000);

test('a leader that is stopped hands over at once', async () => {
  const [first, second] = installation.operators;
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
  const [leader, standby] = holder().startsWith(`${first.name}_`) ? [first, second] : [second, first];
  const stoppedAt = performance.now();
  leader.signal('SIGTERM');
  expect(await leader.ended()).toBe(0);
  await until('the standby leads', () => holder().startsWith(`${standby.name}_`), 10_000);
  expect(performance.now() - stoppedAt).toBeLessThan(5_000);
  await expectConvergence();
}, 120_000);

/** Changes of the Lease and of compiled objects that the audit log records of one pod, by the identity it wrote. */
function writesOf(pod: string): number {
  return installation.cluster.plane
    .auditLog()
    .split('\n')
    .filter((line) => line.includes(`"${pod}`) && /"verb":"(create|update|patch|delete)"/.test(line)).length;
}
