import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createKubeEpochMirror } from '../../adapters/kube/epoch-mirror.js';
import { createKubeReleaseFacts } from '../../adapters/kube/release-facts.js';
import type { KubeTransport } from '../../adapters/kube/transport.js';
import { createMetrics } from '../../adapters/metrics/prometheus.js';
import { parsePostgresUrl } from '../../adapters/postgres/address.js';
import { silentLogger } from '../../core/log.js';
import { systemClock, type EpochMs } from '../../core/units/time.js';
import { loadSigners } from '../../adapters/signer/signers.js';
import { unreachable } from '../../core/errors.js';
import { createServer } from '../../server/server.js';
import { masterKeys } from '../build/operator.js';
import { worldsOfThisRun } from '../build/world.js';
import { createUsageStore } from '../../server/usage-store.js';
import { startRpc, type RpcHost } from '../build/rpc.js';
import { startControlPlane, type ControlPlane } from '../support/cluster/control-plane.js';
import { sharedPostgres, type SharedPostgres } from '../support/postgres.js';
import { until } from '../support/until.js';

// New pods of a release on a real PostgreSQL, and what they know of the others by a real API server. A misspelt database replaced every pod that worked.

const namespace = 'system';
let cluster: ControlPlane;
let transport: KubeTransport;
let postgres: SharedPostgres;
let now = Date.now();
const clock = { now: () => now as EpochMs };
const pods: RpcHost[] = [];
const stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  [cluster, postgres] = await Promise.all([startControlPlane(), sharedPostgres()]);
  transport = cluster.transport();
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } };
  await transport.request({ method: 'POST', path: '/api/v1/namespaces', body });
});
beforeEach(async () => {
  cluster.kubectl(['delete', 'configmap', '-n', namespace, '--all']);
});
afterEach(async () => {
  await Promise.all(pods.splice(0).map((pod) => pod.stop()));
  for (const stop of stops.splice(0)) await stop();
});
afterAll(async () => {
  await transport?.stop();
  await Promise.all([cluster?.stop(), postgres?.stop()]);
});

const factsOf = (mayWrite: boolean) =>
  createKubeReleaseFacts({ transport, namespace, clock, log: silentLogger, mayWrite });

/** A new pod whose database is at `url`. */
async function startPod(url: string): Promise<RpcHost> {
  const { usage } = createUsageStore(
    { kind: 'postgres', address: parsePostgresUrl('url', url) },
    {
      identity: `pod-${pods.length}`,
      clock: systemClock,
      log: silentLogger,
      metrics: createMetrics({ process: false }),
    },
  );
  stops.push(() => usage.stop());
  const release = { facts: factsOf(true), store: url, hasUrls: () => Promise.resolve(true) };
  const pod = await startRpc({ parts: { usage, release } });
  pods.push(pod);
  return pod;
}

const statusOf = async ({ origin }: Pick<RpcHost, 'origin'>) => (await fetch(`${origin}/readyz`)).status;
const isReady = (pod: RpcHost) => until('the pod is ready', async () => (await statusOf(pod)) === 200);
const known = async () => Object.keys((await readMap()) ?? {}).filter((key) => key.startsWith('reached.'));

async function readMap(): Promise<Readonly<Record<string, string>> | undefined> {
  const text = cluster.kubectl([
    'get',
    'configmap',
    '-n',
    namespace,
    'paymaster-usage-epochs',
    '--ignore-not-found',
    '-o',
    'json',
  ]);
  return text === '' ? undefined : (JSON.parse(text) as { data?: Record<string, string> }).data;
}

test('a pod with a misspelt database is never ready; one of the right database that is down is after 15 seconds', async () => {
  const url = await postgres.createDatabase();
  const wrong = await startPod(`${url.replace(/\/[^/?]+\?/, '/misspelt?')}`);
  const first = await startPod(url);
  await isReady(first);
  await until('it is known', async () => (await known()).length > 0);
  wrong.clock.advance(3_600_000);
  expect(await statusOf(wrong)).toBe(503);

  // The same address, and nobody answers there any longer.
  await first.stop();
  pods.splice(pods.indexOf(first), 1);
  await stops.pop()?.();
  await postgres.query(postgres.url, `DROP DATABASE "${new URL(url).pathname.slice(1)}" WITH (FORCE)`);
  const next = await startPod(url);
  await until('it waits', async () => (await statusOf(next)) === 503);
  next.clock.advance(15_000);
  await isReady(next);
});

test('nor is a dashboard with a misspelt database, until it is right', async () => {
  const world = await worldsOfThisRun().openDashboardWorld({ clock: systemClock });
  const metrics = createMetrics({ process: false });
  const ambient = { clock, log: silentLogger, metrics };
  const startDashboard = async (url: string) => {
    const address = parsePostgresUrl('url', url);
    const { usage, texts } = createUsageStore(
      { kind: 'postgres', address },
      { identity: 'dashboard', ...ambient, clock: systemClock },
    );
    const server = createServer({
      roles: ['dashboard'],
      configs: world.configs,
      usage,
      texts,
      chains: { get: () => unreachable('no dashboard asks a chain' as never), stop: () => Promise.resolve() },
      signers: await loadSigners({ log: silentLogger }),
      webhooks: { call: () => Promise.resolve([]), stop: () => Promise.resolve() },
      dashboard: { resources: world.resources, masterKeys },
      release: { facts: factsOf(false), store: url, hasUrls: () => Promise.resolve(true) },
      ...ambient,
    });
    const { port } = await server.listen(0, '127.0.0.1');
    stops.push(
      () => server.stop(),
      () => usage.stop(),
    );
    return { origin: `http://127.0.0.1:${port}` };
  };
  const url = await postgres.createDatabase();
  const wrong = await startDashboard(url.replace(/\/[^/?]+\?/, '/misspelt?'));
  const right = await startDashboard(url);
  await until('it is ready', async () => (await statusOf(right)) === 200);
  now += 3_600_000;
  expect(await statusOf(wrong)).toBe(503);
  stops.push(() => world.stop());
});

test('what was reached is kept beside the epochs, and neither writer loses what the other has written', async () => {
  const mirror = createKubeEpochMirror({ transport, namespace });
  const epoch = { id: 'a', since: 0 as EpochMs, sequence: 1, longestExpiryMs: 0 };
  const facts = factsOf(true);
  await mirror.put(1, epoch, undefined);
  facts.confirm(['store', 'signer']);
  await until('both are there', async () => (await known()).length === 2);
  await mirror.raise(new Map([[1, { id: 'a', sequence: 7 }]]));
  expect([...(await mirror.all()).keys()]).toEqual([1]);
  expect((await mirror.get(1))?.sequence).toBe(7);
  expect(await facts.lastHad(['nobody has it', 'signer'])).toBe(now);
  expect(await facts.lastHad(['nobody has it'])).toBeUndefined();
  // No name of a host or database is shown.
  for (const key of await known()) expect(key).toMatch(/^reached\.[0-9a-f]{32}$/);
});

test('the dashboard reads what was reached, and writes nothing', async () => {
  factsOf(false).confirm(['store']);
  factsOf(true).confirm(['signer']);
  await until('the other is there', async () => (await known()).length === 1);
  expect(await factsOf(false).lastHad(['signer'])).toBe(now);
  expect(await factsOf(false).lastHad(['store'])).toBeUndefined();
});

test('a fact that is confirmed again within five minutes is not written again', async () => {
  const version = () =>
    cluster.kubectl([
      'get',
      'configmap',
      '-n',
      namespace,
      'paymaster-usage-epochs',
      '-o',
      'jsonpath={.metadata.resourceVersion}',
    ]);
  factsOf(true).confirm(['signer']);
  await until('it is there', async () => (await known()).length === 1);
  const before = version();
  now += 299_999;
  // Another pod, which has not written it.
  const other = factsOf(true);
  other.confirm(['signer']);
  other.confirm(['store']);
  await until('the other fact is there', async () => (await known()).length === 2);
  expect(await other.lastHad(['signer'])).toBe(now - 299_999);
  expect(version()).not.toBe(before);
});
