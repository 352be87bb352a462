import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isStatus } from '../../../adapters/kube/api-error.js';
import type { KubeTransport } from '../../../adapters/kube/transport.js';
import type { ResourceStore } from '../../../core/resources/resource-store.js';
import { systemClock } from '../../../core/units/time.js';
import { systemNamespace } from '../../support/cluster/component.js';
import { until } from '../../support/until.js';
import { connectionOfThisRun } from './connection.js';
import { openResources, startKubeOperator } from './dashboard-world.js';
import { openUserParts, type KubeParts } from './kube-worlds.js';
import { ensureNamespace } from './system-namespace.js';

// The operator under its rendered role on a real API server: its grants end with the Organisation, also when
// the Organisation was deleted while no operator ran.

const namespaces = ['stays', 'goes', 'moves', 'theirs', 'elsewhere'];
const tenantRole = `${systemNamespace}-paymaster-tenant`;
const path = (namespace: string): string =>
  `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`;

let parts: KubeParts;
let stop: () => Promise<void>;
let admin: KubeTransport;
let resources: ResourceStore;
beforeAll(async () => {
  const connection = connectionOfThisRun();
  if (connection === undefined) throw new Error('start jest with --config=jest.kubernetes.config.js');
  ({ parts, stop } = await openUserParts(connection));
  admin = parts.transport('admin');
  resources = openResources(parts, admin);
  for (const name of namespaces) await ensureNamespace(admin, name);
});
afterAll(async () => {
  for (const name of namespaces) await admin?.request({ method: 'DELETE', path: path(name) });
  await stop?.();
});

async function declare(name: string, namespace = name): Promise<void> {
  await resources.apply({ manager: 'platform', kind: 'Organisation', key: { name }, spec: { namespace } });
}

/** The roles that the binding `paymaster-dashboard` gives in each namespace; namespaces without the binding are left out. */
async function bindings(): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {};
  for (const namespace of namespaces)
    try {
      const object = await admin.request({ method: 'GET', path: `${path(namespace)}/paymaster-dashboard` });
      found[namespace] = (object as { readonly roleRef: { readonly name: string } }).roleRef.name;
    } catch (error) {
      if (!isStatus(error, 404)) throw error;
    }
  return found;
}

/** A binding of the same name that the operator did not make, or that an operator of another installation did. */
async function bind(namespace: string, role: string, labels: Record<string, string>): Promise<void> {
  await admin.request({
    method: 'POST',
    path: path(namespace),
    body: {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'paymaster-dashboard', namespace, labels },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [{ kind: 'ServiceAccount', name: 'paymaster-dashboard', namespace: systemNamespace }],
    },
  });
}

test("a grant whose Organisation was deleted while no operator ran is revoked, and nobody else's", async () => {
  const first = await startKubeOperator(parts, systemClock);
  await declare('stays');
  await declare('goes');
  await declare('mover', 'moves');
  const granted = { stays: tenantRole, goes: tenantRole, moves: tenantRole };
  await until('access is granted', async () => Object.keys(await bindings()).length === 3);
  expect(await bindings()).toEqual(granted);
  await first.stop();

  await resources.delete('Organisation', { name: 'goes' });
  await declare('mover', 'elsewhere');
  await bind('theirs', tenantRole, {});
  expect(await bindings()).toEqual({ ...granted, theirs: tenantRole });

  const second = await startKubeOperator(parts, systemClock);
  const wanted = { stays: tenantRole, elsewhere: tenantRole, theirs: tenantRole };
  await until('what is left over is gone', async () => {
    const present = await bindings();
    return present['goes'] === undefined && present['moves'] === undefined && 'elsewhere' in present;
  });
  expect(await bindings()).toEqual(wanted);
  await second.stop();
});

test('a grant of another installation, which gives another role, stays', async () => {
  await bind('goes', 'another-release-paymaster-tenant', {
    'app.kubernetes.io/managed-by': 'paymaster-operator',
  });
  await bind('moves', tenantRole, { 'app.kubernetes.io/managed-by': 'paymaster-operator' });
  const operator = await startKubeOperator(parts, systemClock);
  // A stale grant of ours, made before the start, shows that the sweep has run.
  await until('the sweep has been', async () => (await bindings())['moves'] === undefined);
  expect((await bindings())['goes']).toBe('another-release-paymaster-tenant');
  await operator.stop();
});
