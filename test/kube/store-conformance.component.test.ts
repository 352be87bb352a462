import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { kindNames, kinds } from '../../core/resources/kinds.js';
import { group, version } from '../../core/meta/meta.js';
import { createKubeConfigStore } from '../../adapters/configs/kubernetes/configs.js';
import { createKubeEpochMirror, epochConfigMap } from '../../adapters/kube/epoch-mirror.js';
import { createKubeReports, reportsConfigMap } from '../../adapters/kube/reports.js';
import { createKubeResourceStore } from '../../adapters/resources/kubernetes/resources.js';
import type { KubeTransport } from '../../adapters/kube/transport.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import { systemClock, type EpochMs } from '../../core/units/time.js';
import { configStoreConformance } from '../conformance/config-store.js';
import { epochMirrorConformance } from '../conformance/epoch-mirror.js';
import { reportsConformance } from '../conformance/reports.js';
import { resourceStoreConformance } from '../conformance/resource-store.js';
import { installCrds } from './support/crds.js';
import { startControlPlane, type ControlPlane } from '../support/cluster/control-plane.js';

let plane: ControlPlane;
let transport: KubeTransport;
const namespaces = ['acme', 'globex', 'paymaster-system'];

beforeAll(async () => {
  plane = await startControlPlane();
  installCrds(plane);
  for (const namespace of namespaces) plane.kubectl(['create', 'namespace', namespace]);
  transport = plane.transport();
}, 300_000);
afterAll(async () => {
  await transport.stop();
  await plane.stop();
});

/** Without controllers a namespace is never fully deleted, so the tests empty the same namespaces. */
async function emptyNamespaces(): Promise<void> {
  const collections = [
    ...kinds.map((kind) => kindNames[kind].plural),
    'paymasterconfigs',
    'chainconfigs',
    'addresslists',
  ];
  const clusterScoped = new Set<string>(
    kinds.filter((kind) => kindNames[kind].scope === 'Cluster').map((kind) => kindNames[kind].plural),
  );
  for (const plural of collections)
    for (const place of clusterScoped.has(plural) ? [''] : namespaces.map((name) => `namespaces/${name}/`))
      await transport.request({ method: 'DELETE', path: `/apis/${group}/${version}/${place}${plural}` });
}

const common = {
  clock: systemClock,
  now: () => Date.now(),
  random: Math.random,
  log: silentLogger,
  metrics: noMetrics,
};

function reopenable<S extends { stop(): Promise<void> }>(open: () => S) {
  let current = open();
  return {
    store: current,
    reopen: async () => {
      await current.stop();
      current = open();
      return current;
    },
    stop: () => current.stop(),
  };
}

resourceStoreConformance('the Kubernetes API', async () => {
  await emptyNamespaces();
  return reopenable(() =>
    createKubeResourceStore({ ...common, transport, statusManager: 'paymaster-operator' }),
  );
});

configStoreConformance('the Kubernetes API', async () => {
  await emptyNamespaces();
  return reopenable(() => createKubeConfigStore({ ...common, transport, namespace: 'paymaster-system' }));
});

const withoutConfigMap = (name: string) =>
  plane.kubectl(['delete', 'configmap', name, '-n', 'paymaster-system', '--ignore-not-found']);

epochMirrorConformance('the Kubernetes API', async () => {
  withoutConfigMap(epochConfigMap);
  const open = () => createKubeEpochMirror({ transport, namespace: 'paymaster-system' });
  return { mirror: open(), reopen: async () => open() };
});

test('copies of epochs in a ConfigMap that was restored are marked, until they are written again', async () => {
  withoutConfigMap(epochConfigMap);
  const mirror = createKubeEpochMirror({ transport, namespace: 'paymaster-system' });
  const epoch = { id: 'first', since: 0 as EpochMs, sequence: 3, longestExpiryMs: 600_000 };
  await mirror.put(1, epoch, undefined);
  const backup = plane.kubectl(['get', 'configmap', epochConfigMap, '-n', 'paymaster-system', '-o', 'json']);
  withoutConfigMap(epochConfigMap);
  const { data }: { readonly data: Record<string, string> } = JSON.parse(backup);
  const literals = Object.entries(data).map(([name, text]) => `--from-literal=${name}=${text}`);
  plane.kubectl(['create', 'configmap', epochConfigMap, '-n', 'paymaster-system', ...literals]);
  const moved = { ...epoch, isMoved: true as const };
  expect(await mirror.get(1)).toEqual(moved);
  expect((await mirror.all()).get(1)).toEqual(moved);
  expect(await mirror.raise(new Map([[1, { id: 'first', sequence: 9 }]]))).toEqual(new Map([[1, moved]]));
  expect(await mirror.put(1, epoch, epoch)).toBe(false);
  expect(await mirror.put(1, { ...moved, sequence: 4 }, moved)).toBe(true);
  expect(await mirror.get(1)).toEqual({ ...epoch, sequence: 4 });
});

reportsConformance('the Kubernetes API', async (clock) => {
  withoutConfigMap(reportsConfigMap);
  const open = () =>
    createKubeReports({ transport, namespace: 'paymaster-system', clock, log: silentLogger });
  return {
    reports: open(),
    reopen: open,
    spoil: async (texts) => {
      const data = JSON.stringify({ data: texts });
      plane.kubectl([
        'patch',
        'configmap',
        reportsConfigMap,
        '-n',
        'paymaster-system',
        '--type=merge',
        '-p',
        data,
      ]);
    },
  };
});
