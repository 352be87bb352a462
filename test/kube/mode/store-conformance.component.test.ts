import { expect, test } from '@jest/globals';
import { isStatus } from '../../../adapters/kube/api-error.js';
import { group, version } from '../../../core/meta/meta.js';
import { createKubeConfigStore } from '../../../adapters/configs/kubernetes/configs.js';
import { createKubeEpochMirror, epochConfigMap } from '../../../adapters/kube/epoch-mirror.js';
import { createKubeReports, reportsConfigMap } from '../../../adapters/kube/reports.js';
import { createKubeResourceStore } from '../../../adapters/resources/kubernetes/resources.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import { systemClock, type EpochMs } from '../../../core/units/time.js';
import { configStoreConformance } from '../../conformance/config-store.js';
import { epochMirrorConformance } from '../../conformance/epoch-mirror.js';
import { reportsConformance } from '../../conformance/reports.js';
import { resourceStoreConformance } from '../../conformance/resource-store.js';
import { useStarted } from '../../support/use-started.js';
import { claimPlane } from './claimed-plane.js';
import { compiledPlurals } from './installed-plane.js';
import { deleteUserResources } from './system-namespace.js';

/** Of compiled objects: in the chart's namespace only the operator may write them. */
const namespace = 'conformance';
const plane = useStarted(() => claimPlane(['acme', 'globex', namespace]));

async function deleteConfigs(): Promise<void> {
  for (const plural of compiledPlurals)
    await plane.transport.request({
      method: 'DELETE',
      path: `/apis/${group}/${version}/namespaces/${namespace}/${plural}`,
    });
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
  await deleteUserResources(plane.transport);
  return reopenable(() =>
    createKubeResourceStore({ ...common, transport: plane.transport, statusManager: 'paymaster-operator' }),
  );
});

configStoreConformance('the Kubernetes API', async () => {
  await deleteConfigs();
  return reopenable(() => createKubeConfigStore({ ...common, transport: plane.transport, namespace }));
});

const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
async function withoutConfigMap(name: string): Promise<void> {
  await plane.transport
    .request({ method: 'DELETE', path: `${configMaps}/${name}` })
    .catch((error: unknown) => {
      if (!isStatus(error, 404)) throw error;
    });
}
const createMirror = () => createKubeEpochMirror({ transport: plane.transport, namespace });

epochMirrorConformance('the Kubernetes API', async () => {
  await withoutConfigMap(epochConfigMap);
  return { mirror: createMirror(), reopen: async () => createMirror() };
});

test('copies of epochs in a ConfigMap that was restored are marked, until they are written again', async () => {
  await withoutConfigMap(epochConfigMap);
  const mirror = createMirror();
  const epoch = { id: 'first', since: 0 as EpochMs, sequence: 3, longestExpiryMs: 600_000 };
  await mirror.put(1, epoch, undefined);
  const { data } = (await plane.transport.request({
    method: 'GET',
    path: `${configMaps}/${epochConfigMap}`,
  })) as { readonly data: Readonly<Record<string, string>> };
  await withoutConfigMap(epochConfigMap);
  const restored = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: epochConfigMap }, data };
  await plane.transport.request({ method: 'POST', path: configMaps, body: restored });
  const moved = { ...epoch, isMoved: true as const };
  expect(await mirror.get(1)).toEqual(moved);
  expect((await mirror.all()).get(1)).toEqual(moved);
  expect(await mirror.raise(new Map([[1, { id: 'first', sequence: 9 }]]))).toEqual(new Map([[1, moved]]));
  expect(await mirror.put(1, epoch, epoch)).toBe(false);
  expect(await mirror.put(1, { ...moved, sequence: 4 }, moved)).toBe(true);
  expect(await mirror.get(1)).toEqual({ ...epoch, sequence: 4 });
});

reportsConformance('the Kubernetes API', async (clock) => {
  await withoutConfigMap(reportsConfigMap);
  const open = () => createKubeReports({ transport: plane.transport, namespace, clock, log: silentLogger });
  return {
    reports: open(),
    reopen: open,
    spoil: async (texts) => {
      await plane.transport.request({
        method: 'PATCH',
        path: `${configMaps}/${reportsConfigMap}`,
        contentType: 'application/merge-patch+json',
        body: { data: texts },
      });
    },
  };
});
