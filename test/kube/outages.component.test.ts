import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { freshUserOp, rpc } from '../system/support/client.js';
import { isSoak, soakSeconds } from '../support/soak-seconds.js';
import { until } from '../support/until.js';
import { readSnapshot } from '../../adapters/configs/snapshot/snapshot-lines.js';
import type { Component } from '../support/cluster/component.js';
import { startInstallation, supervise, type Installation } from './support/installation.js';
import { auditEvents } from './support/audit.js';
import { startLoad } from './support/load.js';
import { readerOf } from './support/read.js';
import { readSuccession, type Succession } from './support/succession.js';

// Serving survives an outage of the control plane. `make soak` sets the longer outage.

const outageMs = soakSeconds * 1000;
/** Bounds a hang; on a busy machine components that have backed off take minutes to be served again. */
const patienceMs = 240_000;

let installation: Installation;
let stopSupervising: (() => void) | undefined;
beforeAll(async () => {
  installation = await startInstallation();
  stopSupervising = supervise(installation);
}, 300_000);
afterAll(async () => {
  stopSupervising?.();
  await installation?.cluster.stop();
}, 240_000);

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

/** Makes a change with kubectl, waits until it reaches every replica, and reverts it. */
async function expectConvergence(): Promise<void> {
  suspend(true);
  await until(
    'every replica refuses',
    async () =>
      (await Promise.all(installation.replicas.map(ask))).every(({ reason }) => reason === 'SUSPENDED'),
    patienceMs,
  );
  suspend(false);
  await until(
    'every replica sponsors',
    async () =>
      (await Promise.all(installation.replicas.map(ask))).every(
        ({ status, reason }) => status === 200 && reason === undefined,
      ),
    patienceMs,
  );
}

async function isResumedOnDisk(replica: Component): Promise<boolean> {
  const file = join(dirname(replica.logFile), 'var/lib/paymaster/configs.snapshot');
  const { configs } = await readSnapshot(readFileSync(file, 'utf8'));
  const paymasters = [...configs.values()].flatMap((event) =>
    event.type === 'put-paymaster' ? [event.config] : [],
  );
  return paymasters.length > 0 && paymasters.every(({ suspended }) => !suspended);
}

test(
  'an API server that hangs costs no request, and later changes are served',
  async () => {
    const { apiServer } = installation.cluster.plane;
    const load = startLoad(installation);
    apiServer.signal('SIGSTOP');
    await lasts(outageMs);
    await until('a hundred were asked for', () => load.sent() > 100, patienceMs);
    const { failures } = await load.stop();
    apiServer.signal('SIGCONT');
    expect(failures).toEqual([]);
    await expectConvergence();
  },
  outageMs + 3 * patienceMs,
);

test(
  'an API server that is killed costs no request; a replica that restarts meanwhile serves its snapshot',
  async () => {
    const { apiServer } = installation.cluster.plane;
    const [first, ...others] = installation.replicas;
    if (first === undefined) throw new Error('no replica');
    // A change is on disk a moment after it is served.
    await until('its snapshot has what it serves', () => isResumedOnDisk(first), patienceMs);
    const load = startLoad({ ...installation, replicas: others });
    apiServer.signal('SIGKILL');
    await apiServer.ended();
    first.signal('SIGKILL');
    await first.ended();
    await first.restart();
    const answer = await ask(first);
    const metrics = await (await fetch(`${first.origin}/metrics`)).text();
    await lasts(outageMs / 3);
    await until('a hundred were asked for', () => load.sent() > 100, patienceMs);
    const { failures } = await load.stop();
    await apiServer.restart();
    expect(answer).toMatchObject({ status: 200, result: { mode: 'SPONSORED' } });
    expect(Number(/^paymaster_config_confirmed_age_seconds (\S+)$/m.exec(metrics)?.[1])).toBeGreaterThan(0);
    expect(readFileSync(first.logFile, 'utf8')).toContain('serving the snapshot on disk');
    expect(failures).toEqual([]);
    await expectConvergence();
  },
  outageMs + 4 * patienceMs,
);

const longestMs = 4 * patienceMs;

/** Empty while nobody holds the lease, or the API server does not answer. */
const holder = async (): Promise<string> => (await readerOf(installation.cluster).leaseHolder()) ?? '';

/** Who holds the lease, under which name, and when that was seen (ms). */
type Reign = { readonly leader: Component; readonly identity: string; readonly since: number };

/** The operator that leads now, when both run and one of them holds the lease. */
async function presentLeader(): Promise<Reign> {
  const { operators } = installation;
  let identity = '';
  const leading = (): Component | undefined => operators.find(({ name }) => identity.startsWith(`${name}_`));
  await until(
    'both run and one leads',
    async () => {
      identity = await holder();
      return operators.every((each) => each.isRunning()) && leading() !== undefined;
    },
    patienceMs,
  );
  const leader = leading();
  if (leader === undefined) throw new Error('nobody leads');
  return { leader, identity, since: Date.now() };
}

/** Waits until another operator holds the lease, and resolves with how it took over. */
async function successionAfter({ leader, identity, since }: Reign): Promise<Succession> {
  let next = '';
  await until(
    'another leads',
    async () => {
      next = await holder();
      return !['', identity].includes(next);
    },
    patienceMs,
  );
  const [successor = ''] = next.split('_');
  let succession: Succession | undefined;
  await until(
    'the audit log shows it',
    () => {
      const names = { predecessor: leader.name, successor, leaseSeconds: 15, since };
      succession = readSuccession(installation.cluster.plane, names);
      return succession !== undefined;
    },
    patienceMs,
  );
  if (succession === undefined) throw new Error('nothing is told');
  return succession;
}

/** At most the time of a lease and two polls, 24 s, however late a busy machine lets the standby poll. */
function expectInTime({ seconds, lateSeconds, looksAfterExpiry }: Succession): void {
  expect(looksAfterExpiry).toBeLessThanOrEqual(2);
  expect(seconds - lateSeconds).toBeLessThan(24);
}

/** Enough runs for a median where there is time for them. */
const kills = isSoak ? 5 : 1;

test(
  'a leader that is killed is replaced within 24 s, and the new one works',
  async () => {
    const successions: Succession[] = [];
    for (let kill = 0; kill < kills; kill++) {
      const reign = await presentLeader();
      reign.leader.signal('SIGKILL');
      successions.push(await successionAfter(reign));
    }
    const seconds = successions.map((one) => one.seconds).toSorted((a, b) => a - b);
    console.info(`successions of ${kills}: p50 ${seconds[kills >> 1]} s, longest ${seconds.at(-1)} s`);
    for (const succession of successions) expectInTime(succession);
    await expectConvergence();
  },
  kills * longestMs,
);

test(
  'a leader that hangs loses the lease, ends when it wakes, and writes nothing',
  async () => {
    const reign = await presentLeader();
    const { leader } = reign;
    leader.signal('SIGSTOP');
    const succession = await successionAfter(reign);
    const before = writesOf(leader.name);
    const ended = leader.ended();
    leader.signal('SIGCONT');
    expect(await ended).toBe(1);
    // The pod that replaces it begins as a standby, which writes nothing either.
    expect(writesOf(leader.name).slice(before.length)).toEqual([]);
    expect(before).not.toEqual([]);
    expectInTime(succession);
    await expectConvergence();
  },
  longestMs,
);

test(
  'a leader that is stopped hands over at once',
  async () => {
    const reign = await presentLeader();
    const { leader } = reign;
    const ended = leader.ended();
    leader.signal('SIGTERM');
    expect(await ended).toBe(0);
    // The next poll of the standby takes the lease, not one after the lease would have expired.
    const { looks, looksAfterExpiry } = await successionAfter(reign);
    expect(looks).toBeLessThanOrEqual(2);
    expect(looksAfterExpiry).toBe(0);
    await expectConvergence();
  },
  longestMs,
);

/** Changes that the API server accepted from one pod, which its user agent identifies. */
function writesOf(pod: string): readonly string[] {
  return auditEvents(installation.cluster.plane, `paymaster-operator (${pod})`)
    .filter(
      ({ verb, responseStatus }) =>
        ['create', 'update', 'patch', 'delete'].includes(verb) && (responseStatus?.code ?? 0) < 300,
    )
    .map(({ verb, requestURI }) => `${verb} ${requestURI}`);
}
