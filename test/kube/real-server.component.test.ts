import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { createCredentialSource } from '../../adapters/kube/credentials.js';
import type { KubeObject } from '../../adapters/kube/objects.js';
import { createReflector, type Reflector, type ReflectorTiming } from '../../adapters/kube/reflector.js';
import {
  createKubeTransport,
  type CredentialSource,
  type KubeTransport,
} from '../../adapters/kube/transport.js';
import { createMetrics } from '../../adapters/metrics/prometheus.js';
import { silentLogger } from '../../core/log.js';
import type { EpochMs } from '../../core/units/time.js';
import { startControlPlane, type ControlPlane } from '../support/cluster/control-plane.js';
import { isSoak, soakSeconds } from '../support/soak-seconds.js';
import { until } from '../support/until.js';
import { faults, startFaultyProxy, type FaultyProxy } from './support/faulty-proxy.js';

// A reflector on a real API server and etcd, with faults between them: at the end its copy equals the server's state.

const namespace = 'followed';
const path = `/api/v1/namespaces/${namespace}/configmaps`;
const patienceMs = 240_000;

let plane: ControlPlane;
let admin: KubeTransport;
let proxy: FaultyProxy;
beforeAll(async () => {
  plane = await startControlPlane();
  plane.kubectl(['create', 'namespace', namespace]);
  admin = plane.transport();
  proxy = await startFaultyProxy(plane);
});
const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});
afterAll(async () => {
  await proxy?.stop();
  await admin?.stop();
  await plane?.stop();
});

const throughProxy: CredentialSource = { load: async () => ({ server: proxy.url }) };

function follow(credentials: CredentialSource, timing: Partial<ReflectorTiming> = {}) {
  const metrics = createMetrics({ process: false });
  const transport = createKubeTransport({ credentials, userAgent: 'test', log: silentLogger, metrics });
  cleanUps.push(() => transport.stop());
  const reflector = createReflector<KubeObject>({
    transport,
    path,
    kind: 'ConfigMap',
    transform: (object) => object,
    onEvent: () => {},
    log: silentLogger,
    metrics,
    now: () => Date.now(),
    random: Math.random,
    timing: { firstBackoffMs: 20, maxBackoffMs: 200, ...timing },
  });
  cleanUps.push(() => reflector.stop());
  reflector.start();
  return {
    reflector,
    /** The value of a counter; 0 while it has none. */
    async count(series: RegExp): Promise<number> {
      const line = (await metrics.render()).body.split('\n').find((text) => series.test(text));
      return Number(line?.split(' ').at(-1) ?? 0);
    },
  };
}

const revisions = (objects: readonly KubeObject[]): string =>
  objects
    .map(({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`)
    .toSorted()
    .join();

async function expectConverged(reflector: Reflector<KubeObject>): Promise<void> {
  const { items } = (await admin.request({ method: 'GET', path })) as { items: readonly KubeObject[] };
  expect(items.length).toBeGreaterThan(1);
  await until(
    'the copy equals the server',
    () => revisions(reflector.list()) === revisions(items),
    patienceMs,
  );
}

const put = (name: string, value: string) =>
  admin.request({
    method: 'PATCH',
    path: `${path}/${name}`,
    query: { fieldManager: 'test', force: 'true' },
    contentType: 'application/apply-patch+yaml',
    body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: { value } },
  });
const remove = (name: string) => admin.request({ method: 'DELETE', path: `${path}/${name}` });

test('410s, 429s, 500s, resets, frames cut short and silent connections, under a load of changes', async () => {
  const { reflector, count } = follow(throughProxy, { stallMs: 1_500, watchListMs: 5_000 });
  await until('it is synced', () => reflector.hasSynced(), patienceMs);
  let isOver = false;
  let changes = 0;
  const churn = (async () => {
    for (let round = 0; !isOver; round++) {
      const name = `thing-${round % 30}`;
      await put(name, `${round}`);
      if (round % 5 === 0) await remove(name);
      changes += 1;
    }
  })();
  const notMet = async (): Promise<readonly string[]> => {
    const met = await Promise.all(
      ['corrupt', '410', '429', '500', 'unreachable'].map(async (reason) => {
        const times = await count(new RegExp(`^informer_watch_errors_total.*reason="${reason}"`));
        return times > 0 ? [] : [reason];
      }),
    );
    return met.flat();
  };
  // A fault without an open watch has no effect, so it is repeated.
  const endsAt = performance.now() + (isSoak ? soakSeconds * 1000 : 0);
  for (let i = 0; performance.now() < endsAt || (await notMet()).length > 0; i++) {
    const fault = faults[i % faults.length];
    if (fault !== undefined) proxy.inject(fault);
    const seen = reflector.lastHeardAt();
    await until('it hears of the server again', () => reflector.lastHeardAt() > seen, patienceMs);
  }
  isOver = true;
  await churn;
  await expectConverged(reflector);
  expect(changes).toBeGreaterThan(10);
  expect(await count(/^informer_relists_total.*reason="expired"/)).toBeGreaterThan(0);
  expect(await count(/^informer_cache_miss_total/)).toBe(0);
}, 600_000);

test('a version that etcd has compacted away while the reflector was cut off: the server says 410, and it lists again', async () => {
  for (const name of ['kept', 'changed', 'gone']) await put(name, 'before');
  const { reflector, count } = follow(throughProxy);
  await until('it is synced', () => reflector.hasSynced(), patienceMs);
  await expectConverged(reflector);
  proxy.interrupt();
  try {
    await put('changed', 'after');
    await put('new', 'after');
    await remove('gone');
    await compact();
    // A restart clears the API server's memory of earlier versions.
    plane.apiServer.signal('SIGKILL');
    await plane.apiServer.ended();
    await plane.apiServer.restart();
  } finally {
    proxy.restore();
  }
  await expectConverged(reflector);
  expect(reflector.get(`${namespace}/gone`)).toBeUndefined();
  expect(await count(/^informer_watch_errors_total.*reason="410"/)).toBeGreaterThan(0);
  expect(await count(/^informer_relists_total.*reason="expired"/)).toBeGreaterThan(0);
}, 600_000);

/** Compacts etcd: removes every version but the newest. */
async function compact(): Promise<void> {
  const { metadata } = (await admin.request({ method: 'GET', path, query: { limit: '1' } })) as KubeObject;
  const response = await fetch(`${plane.etcdUrl}/v3/kv/compaction`, {
    method: 'POST',
    body: JSON.stringify({ revision: metadata.resourceVersion, physical: true }),
    signal: AbortSignal.timeout(30_000),
  });
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
}

test('a rotated token whose predecessor is refused: the file is read again, and the watch goes on', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'service-account-'));
  cleanUps.push(() => rmSync(directory, { recursive: true, force: true }));
  const inNamespace = ['-n', namespace];
  plane.kubectl(['create', 'serviceaccount', 'follower', ...inNamespace]);
  plane.kubectl(['create', 'role', 'follower', '--verb=list,watch', '--resource=configmaps', ...inNamespace]);
  plane.kubectl([
    'create',
    'rolebinding',
    'follower',
    '--role=follower',
    `--serviceaccount=${namespace}:follower`,
    ...inNamespace,
  ]);
  writeFileSync(join(directory, 'ca.crt'), plane.ca());
  mount(newToken('first'));
  const { hostname, port } = new URL(plane.url);
  // Time stands still: only a refusal makes the client read the file.
  const credentials = createCredentialSource(
    { from: 'service-account', files: { directory, host: hostname, port } },
    { now: () => 1_000_000 as EpochMs },
  );
  // The server ends each watch after a second or two, and the next one is asked for with the token.
  const { reflector, count } = follow(credentials, { watchSeconds: 1 });
  await until('it is synced', () => reflector.hasSynced(), patienceMs);
  const refused = () => count(/^rest_client_requests_total.*code="401"/);
  expect(await refused()).toBe(0);

  mount(newToken('second'));
  // A token becomes invalid when the object that it is bound to is deleted.
  plane.kubectl(['delete', 'secret', 'first', ...inNamespace]);
  await until('the first token is refused', async () => (await refused()) > 0, patienceMs);
  await put('after-rotation', 'told');
  await until(
    'it hears about changes',
    () => reflector.get(`${namespace}/after-rotation`) !== undefined,
    patienceMs,
  );
  await expectConverged(reflector);
  expect(await count(/^informer_relists_total.*reason="start"/)).toBe(1);
  expect(await count(/^informer_watch_errors_total.*reason="401"/)).toBe(0);

  function newToken(secret: string): string {
    plane.kubectl(['create', 'secret', 'generic', secret, ...inNamespace]);
    return plane.kubectl([
      'create',
      'token',
      'follower',
      '--bound-object-kind=Secret',
      `--bound-object-name=${secret}`,
      ...inNamespace,
    ]);
  }

  function mount(token: string): void {
    writeFileSync(join(directory, 'token'), token, { mode: 0o600 });
  }
}, 600_000);
