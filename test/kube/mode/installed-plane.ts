import { join } from 'node:path';
import { group, version } from '../../../core/meta/meta.js';
import { kindNames, kinds } from '../../../core/resources/kinds.js';
import { createKubeTransport, type KubeTransport } from '../../../adapters/kube/transport.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import { systemNamespace } from '../../support/cluster/component.js';
import { serviceAccountUser, startControlPlane } from '../../support/cluster/control-plane.js';
import { repositoryRoot } from '../../support/repository-root.js';
import { succeeds, until } from '../../support/until.js';

/** Who calls the API server: the administrator, or a component under the rights that the chart gives it. */
export type Caller = 'admin' | 'operator' | 'dashboard' | 'rpc';
const components = ['operator', 'dashboard', 'rpc'] as const;
/** Of compiled objects. */
export const compiledPlurals = ['paymasterconfigs', 'chainconfigs', 'addresslists'];

/** How to reach a control plane in which the chart is installed; plain data, so that another realm can use it. */
export type PlaneAddress = {
  readonly server: string;
  readonly ca: string;
  /** Folder of `kubectl`. */
  readonly assets: string;
  readonly tokens: Readonly<Record<Caller, string>>;
};

/** Starts a kube-apiserver and an etcd, with the definitions, roles and policies that the chart renders. */
export async function startInstalledPlane(): Promise<{
  readonly address: PlaneAddress;
  stop(): Promise<void>;
}> {
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${systemNamespace}`];
  const plane = await startControlPlane({
    users: Object.fromEntries(components.map((name) => [userOf(name), groups])),
  });
  try {
    plane.kubectl(['apply', '--server-side', '-f', join(repositoryRoot, 'charts/install.yaml')]);
    plane.kubectl(['wait', '--for=condition=Established', '--timeout=240s', 'crd', '--all']);
    await untilServed(plane.transport());
  } catch (error) {
    await plane.stop();
    throw error;
  }
  const tokens = {
    admin: plane.token('admin'),
    operator: plane.token(userOf('operator')),
    dashboard: plane.token(userOf('dashboard')),
    rpc: plane.token(userOf('rpc')),
  };
  const { url: server, assets } = plane;
  return { address: { server, ca: plane.ca(), assets, tokens }, stop: () => plane.stop() };
}

/** A definition that is established answers 429 until its storage is ready. */
async function untilServed(transport: KubeTransport): Promise<void> {
  const plurals = [...kinds.map((kind) => kindNames[kind].plural), ...compiledPlurals];
  try {
    for (const plural of plurals) {
      const list = { method: 'GET', path: `/apis/${group}/${version}/${plural}` } as const;
      await until(`${plural} are served`, () => succeeds(transport.request(list)));
    }
  } finally {
    await transport.stop();
  }
}

export function transportOf({ server, ca, tokens }: PlaneAddress, caller: Caller): KubeTransport {
  return createKubeTransport({
    credentials: { load: async () => ({ server, ca, authorization: `Bearer ${tokens[caller]}` }) },
    userAgent: `test/${caller}`,
    log: silentLogger,
    metrics: noMetrics,
  });
}

function userOf(component: Exclude<Caller, 'admin'>): string {
  return serviceAccountUser(systemNamespace, `paymaster-${component}`);
}
