import { isStatus } from '../../../adapters/kube/api-error.js';
import type { KubeList, KubeObject } from '../../../adapters/kube/objects.js';
import type { KubeTransport } from '../../../adapters/kube/transport.js';
import { kindNames, kinds } from '../../../core/resources/kinds.js';
import { group, version } from '../../../core/meta/meta.js';
import { until } from '../../support/until.js';
import { systemNamespace } from '../../support/cluster/component.js';

const rbac = 'rbac.authorization.k8s.io/v1';

/** Creates the namespace where it is missing, with the label that lets the operator grant rights in it. */
export async function ensureNamespace(admin: KubeTransport, name: string): Promise<void> {
  const body = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { 'paymasters.dev/organisation': 'true' } },
  };
  await admin.request({ method: 'POST', path: '/api/v1/namespaces', body }).catch((error: unknown) => {
    if (!isStatus(error, 409)) throw error;
  });
}

/**
 * A namespace in which the components have exactly the rights that the chart gives them: objects that one test
 * file compiles are not visible to the next.
 */
export async function createSystemNamespace(admin: KubeTransport, name: string): Promise<void> {
  await ensureNamespace(admin, name);
  for (const plural of ['roles', 'rolebindings']) {
    const rendered = (await admin.request({
      method: 'GET',
      path: `/apis/${rbac}/namespaces/${systemNamespace}/${plural}`,
    })) as KubeList<KubeObject>;
    if (rendered.items.length === 0) throw new Error(`the chart renders no ${plural}`);
    for (const { metadata, ...rest } of rendered.items)
      await admin.request({
        method: 'POST',
        path: `/apis/${rbac}/namespaces/${name}/${plural}`,
        body: { ...rest, metadata: { name: metadata.name, namespace: name } },
      });
  }
}

/** Waits until the authorizer, which follows changes of roles like any other watcher, lets the caller list this. */
export async function untilAllowed(caller: KubeTransport, namespace: string, plural: string): Promise<void> {
  await until(`${plural} of ${namespace} may be listed`, async () => {
    try {
      await caller.request({
        method: 'GET',
        path: `/apis/${group}/${version}/namespaces/${namespace}/${plural}`,
        query: { limit: '1' },
      });
      return true;
    } catch (error) {
      if (isStatus(error, 403)) return false;
      throw error;
    }
  });
}

/** Deletes every resource of every user, and resolves when none is left: no kind of ours has a finalizer. */
export async function deleteUserResources(admin: KubeTransport): Promise<void> {
  for (const kind of kinds) {
    const { plural, scope } = kindNames[kind];
    const path = (place: string): string => `/apis/${group}/${version}/${place}${plural}`;
    const { items } = (await admin.request({ method: 'GET', path: path('') })) as KubeList<KubeObject>;
    const places =
      scope === 'Cluster' ? [''] : items.map(({ metadata }) => `namespaces/${metadata.namespace}/`);
    for (const place of new Set(places)) await admin.request({ method: 'DELETE', path: path(place) });
  }
}
