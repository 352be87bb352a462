import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { join } from 'node:path';
import { createKubeTenantAccess } from '../../adapters/kube/tenant-access.js';
import type { KubeRequest, KubeTransport } from '../../adapters/kube/transport.js';
import { createKubeConnectionSecrets } from '../../adapters/secrets/kube-secrets.js';
import { startControlPlane, type ControlPlane } from '../support/cluster/control-plane.js';
import { repositoryRoot } from '../support/repository-root.js';
import { until } from '../support/until.js';
import { mustKubectl, serviceAccount } from './support/cluster.js';
import { renderOperator } from './support/helm.js';

// Somebody has the token of a component, and tries on a real API server what would make him master of the cluster.

const system = 'gas-system';
const tenant = 'team-a';
const unlabelled = 'team-b';
const accountOf = (component: string): string => serviceAccount(system, `gas-paymaster-${component}`);
const components = ['operator', 'dashboard', 'rpc'] as const;
type Component = (typeof components)[number];

const word = 'correct-horse-battery';
const encoded = Buffer.from(word).toString('base64');

let cluster: ControlPlane;
let clients: Readonly<Record<Component, KubeTransport>>;
beforeAll(async () => {
  cluster = await startControlPlane({
    users: Object.fromEntries(components.map((name) => [accountOf(name), ['system:serviceaccounts']])),
  });
  mustKubectl(cluster, ['apply', '--server-side', '-f', join(repositoryRoot, 'crds')]);
  for (const name of [system, tenant, unlabelled]) mustKubectl(cluster, ['create', 'namespace', name]);
  mustKubectl(cluster, ['label', 'namespace', tenant, 'paymasters.dev/organisation=true']);
  for (const namespace of [tenant, 'kube-system'])
    mustKubectl(cluster, ['create', 'secret', 'generic', 'theirs', `-n=${namespace}`, `--from-literal=password=${word}`]);
  const items = renderOperator({ namespace: system, set: ['postgres.bundled.enabled=true'] }).filter(({ kind }) =>
    /Role|ServiceAccount|Validating/.test(kind),
  );
  mustKubectl(cluster, ['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  const [operator, dashboard, rpc] = components.map((name) => cluster.transport(accountOf(name)));
  clients = { operator: operator!, dashboard: dashboard!, rpc: rpc! };
  const stranger = bind(tenant, 'connection-secrets', 'rpc', 'paymaster-connection-secrets');
  await until('the policy for RoleBindings is enforced', async () =>
    (await attempt('operator', { ...stranger, query: { dryRun: 'All' } })).text.includes('own two roles'),
  );
  await until('the operator has its access', async () => (await access().grant(tenant)) !== 'no-namespace');
  await until('the authorizer knows it', async () =>
    (await attempt('operator', { ...make(connectionSecret('probe')), query: { dryRun: 'All' } })).ok,
  );
  // Each policy comes into force by itself, so the one for RoleBindings says nothing of this one.
  await until('the policy for Secrets is enforced', async () =>
    (await attempt('operator', { ...make(secret('probe', { metadata: {} })), query: { dryRun: 'All' } })).text.includes(
      'that a Paymaster controls',
    ),
  );
});
afterAll(async () => {
  for (const client of Object.values(clients ?? {})) await client.stop();
  await cluster?.stop();
});

type Attempt = { readonly ok: boolean; readonly status: number; readonly text: string };

async function attempt(component: Component, request: KubeRequest): Promise<Attempt> {
  try {
    return { ok: true, status: 200, text: JSON.stringify(await clients[component].request(request)) };
  } catch (error) {
    const { status = 0 } = error as { readonly status?: number };
    return { ok: false, status, text: String(error) };
  }
}

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const dryRun = { dryRun: 'All' };

/** RoleBindings as the operator makes them, to any account and in any namespace. */
function bind(namespace: string, role: string, component: string, name = `paymaster-${role}`): KubeRequest {
  return {
    method: 'POST',
    path: `${rbac}/namespaces/${namespace}/rolebindings`,
    body: {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name, namespace },
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'ClusterRole',
        name: role.startsWith('cluster-') ? role : `gas-system-gas-paymaster-${role}`,
      },
      subjects: [{ kind: 'ServiceAccount', name: `gas-paymaster-${component}`, namespace: system }],
    },
  };
}

const secrets = (namespace = tenant): string => `/api/v1/namespaces/${namespace}/secrets`;
const theirs = (namespace = tenant): string => `${secrets(namespace)}/theirs`;
const managed = { 'app.kubernetes.io/managed-by': 'paymaster-operator' };
const owner = {
  apiVersion: 'paymasters.dev/v1alpha1',
  kind: 'Paymaster',
  name: 'shop',
  uid: '11111111-2222-4333-8444-555555555555',
  controller: true,
};

function secret(name: string, change: { readonly type?: string; readonly metadata?: object } = {}) {
  const { type = 'Opaque', metadata = { labels: managed, ownerReferences: [owner] } } = change;
  return { apiVersion: 'v1', kind: 'Secret', type, metadata: { name, ...metadata }, data: {} };
}
const connectionSecret = (name: string) => secret(name);
const make = (body: object, namespace = tenant): KubeRequest => ({ method: 'POST', path: secrets(namespace), body });
const put = (body: object, namespace = tenant): KubeRequest => ({ method: 'PUT', path: theirs(namespace), body });
const patch = (kind: string, body: unknown, path = theirs()): KubeRequest => ({
  method: 'PATCH',
  path,
  body,
  contentType: `application/${kind}`,
  query: { fieldManager: 'test' },
});
const copy = (path: string, ...before: readonly object[]): KubeRequest =>
  patch('json-patch+json', [...before, { op: 'copy', from: '/data/password', path }]);
const tokenOf = (account: string) => ({
  labels: managed,
  ownerReferences: [owner],
  annotations: { 'kubernetes.io/service-account.name': account },
});

type Case = { readonly what: string; readonly request: KubeRequest };

const attempts: readonly Case[] = [
  // Rights.
  ...['kube-system', 'default', system, unlabelled].flatMap((namespace): Case[] => [
    { what: `bind the role for Secrets in ${namespace}`, request: bind(namespace, 'connection-secrets', 'operator') },
    { what: `bind the role of the dashboard in ${namespace}`, request: bind(namespace, 'tenant', 'dashboard', 'paymaster-dashboard') },
  ]),
  { what: 'bind cluster-admin', request: bind(tenant, 'cluster-admin', 'operator') },
  { what: 'bind the role for Secrets to the rpc role', request: bind(tenant, 'connection-secrets', 'rpc') },
  {
    what: 'bind cluster-admin in the cluster',
    request: {
      method: 'POST',
      path: `${rbac}/clusterrolebindings`,
      body: {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'mine' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
        subjects: [{ kind: 'ServiceAccount', name: 'gas-paymaster-operator', namespace: system }],
      },
    },
  },
  {
    what: 'escalate its role',
    request: patch(
      'merge-patch+json',
      { rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] },
      `${rbac}/clusterroles/gas-system-gas-paymaster-connection-secrets`,
    ),
  },
  {
    what: 'label a namespace',
    request: patch('merge-patch+json', { metadata: { labels: { 'paymasters.dev/organisation': 'true' } } }, `/api/v1/namespaces/kube-system`),
  },
  ...['validatingadmissionpolicies', 'validatingadmissionpolicybindings'].flatMap((plural) =>
    ['bindings', 'secrets'].map((name): Case => ({
      what: `delete ${plural} ${name}`,
      request: { method: 'DELETE', path: `/apis/admissionregistration.k8s.io/v1/${plural}/gas-system-gas-paymaster-${name}` },
    })),
  ),
  {
    what: 'ask for a token of a controller',
    request: {
      method: 'POST',
      path: '/api/v1/namespaces/kube-system/serviceaccounts/clusterrole-aggregation-controller/token',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    },
  },
  // A Secret of somebody else: reading it.
  ...[tenant, 'kube-system'].flatMap((namespace): Case[] => [
    { what: `get a Secret of ${namespace}`, request: { method: 'GET', path: theirs(namespace) } },
    { what: `list Secrets of ${namespace}`, request: { method: 'GET', path: secrets(namespace) } },
    { what: `watch Secrets of ${namespace}`, request: { method: 'GET', path: secrets(namespace), query: { watch: 'true' } } },
  ]),
  // The answer to a patch shows the object, also when nothing changes; messages of validation show values, before any admission.
  { what: 'apply nothing to a Secret', request: patch('apply-patch+yaml', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'theirs' } }) },
  { what: 'merge nothing into a Secret', request: patch('merge-patch+json', {}) },
  { what: 'merge nothing, dry run', request: { ...patch('merge-patch+json', {}), query: dryRun } },
  { what: 'patch nothing strategically', request: patch('strategic-merge-patch+json', {}) },
  { what: 'copy a value into the type', request: copy('/type') },
  { what: 'copy a value into a label', request: copy('/metadata/labels/x', { op: 'add', path: '/metadata/labels', value: {} }) },
  { what: 'copy a value into a flag', request: copy('/immutable') },
  { what: 'guess a value', request: patch('json-patch+json', [{ op: 'test', path: '/data/password', value: encoded }]) },
  // Changing it.
  { what: 'replace a Secret', request: put(secret('theirs')) },
  { what: 'replace a Secret, dry run', request: { ...put(secret('theirs')), query: dryRun } },
  { what: 'replace a Secret of kube-system', request: put(secret('theirs'), 'kube-system') },
  { what: 'make a Secret its own', request: patch('apply-patch+yaml', secret('theirs')) },
  { what: 'delete a Secret', request: { method: 'DELETE', path: theirs() } },
  { what: 'delete all Secrets', request: { method: 'DELETE', path: secrets() } },
  // Secrets that somebody else acts upon.
  ...['kubernetes.io/service-account-token', 'bootstrap.kubernetes.io/token', 'kubernetes.io/tls', 'example.org/any'].map(
    (type): Case => ({ what: `make a Secret of type ${type}`, request: make(secret('made', { type, metadata: tokenOf('default') })) }),
  ),
  { what: 'make a token Secret, dry run', request: { ...make(secret('made', { type: 'kubernetes.io/service-account-token', metadata: tokenOf('default') })), query: dryRun } },
  { what: 'make a token Secret in kube-system', request: make(secret('made', { type: 'kubernetes.io/service-account-token', metadata: tokenOf('clusterrole-aggregation-controller') }), 'kube-system') },
  { what: 'make an Opaque Secret in kube-system', request: make(secret('made'), 'kube-system') },
  { what: 'make a Secret without an owner', request: make(secret('made', { metadata: { labels: managed } })) },
  { what: 'make a Secret without its label', request: make(secret('made', { metadata: { ownerReferences: [owner] } })) },
];

describe.each(components)('with the token of the %s', (component) => {
  test.each(attempts)('nobody can $what', async ({ request }) => {
    const { ok, status, text } = await attempt(component, request);
    expect(text).not.toContain(word);
    expect(text).not.toContain(encoded);
    expect({ ok, text }).toMatchObject({ ok: false });
    // 404: a policy of that name is not installed.
    expect([403, 422]).toContain(status);
  });
});

const access = () =>
  createKubeTenantAccess({
    transport: clients.operator,
    bindings: [
      {
        name: 'paymaster-dashboard',
        clusterRole: 'gas-system-gas-paymaster-tenant',
        serviceAccount: { namespace: system, name: 'gas-paymaster-dashboard' },
      },
      {
        name: 'paymaster-connection-secrets',
        clusterRole: 'gas-system-gas-paymaster-connection-secrets',
        serviceAccount: { namespace: system, name: 'gas-paymaster-operator' },
      },
    ],
  });

describe('the operator', () => {
  test('says that the label is missing, and binds its roles once the platform has set it', async () => {
    mustKubectl(cluster, ['create', 'namespace', 'team-c']);
    expect(await access().grant('team-c')).toBe('no-label');
    mustKubectl(cluster, ['label', 'namespace', 'team-c', 'paymasters.dev/organisation=true']);
    // The API server's admission learns of a label a moment later.
    await until('the label is seen', async () => (await access().grant('team-c')) === 'granted');
    expect(await access().grant('team-c')).toBe('unchanged');
    mustKubectl(cluster, ['label', 'namespace', 'team-c', 'paymasters.dev/organisation-']);
    await until('it is seen to be gone', async () => (await access().grant('team-c')) === 'no-label');
    await access().revoke('team-c');
    expect(await access().granted()).not.toContain('team-c');
  });

  const write = (name: string, data: Record<string, string>, uid = owner.uid) =>
    createKubeConnectionSecrets({ transport: clients.operator }).write({
      namespace: tenant,
      name,
      owner: { name: 'shop', uid },
      data,
    });
  const read = (name: string, path: string): string =>
    mustKubectl(cluster, ['get', 'secret', name, `-n=${tenant}`, `-o=jsonpath={${path}}`]);
  const dataOf = (name: string) =>
    JSON.parse(read(name, '.data')) as Readonly<Record<string, string>>;

  test('keeps a connection Secret right, and writes nothing while it is', async () => {
    expect(await write('mine', { apiKey: 'one' })).toBe('written');
    expect(dataOf('mine')).toEqual({ apiKey: 'b25l' });
    expect(read('mine', '.metadata.ownerReferences[0].uid')).toBe(owner.uid);
    const version = read('mine', '.metadata.resourceVersion');
    expect(await write('mine', { apiKey: 'one' })).toBe('written');
    expect(read('mine', '.metadata.resourceVersion')).toBe(version);

    mustKubectl(cluster, ['patch', 'secret', 'mine', `-n=${tenant}`, '-p', '{"data":{"apiKey":"eA==","more":"eA=="}}']);
    expect(await write('mine', { apiKey: 'one' })).toBe('written');
    expect(dataOf('mine')).toEqual({ apiKey: 'b25l' });

    mustKubectl(cluster, ['delete', 'secret', 'mine', `-n=${tenant}`]);
    expect(await write('mine', { apiKey: 'two' })).toBe('written');
    expect(dataOf('mine')).toEqual({ apiKey: 'dHdv' });
  });

  test('leaves a Secret of somebody else, of another type or of another Paymaster as it is', async () => {
    expect(await write('theirs', { apiKey: 'one' })).toBe('not-ours');
    expect(dataOf('theirs')).toEqual({ password: encoded });

    mustKubectl(cluster, ['create', 'secret', 'docker-registry', 'pull', `-n=${tenant}`, '--docker-username=a', '--docker-password=b']);
    expect(await write('pull', { apiKey: 'one' })).toBe('not-ours');

    expect(await write('first', { apiKey: 'one' })).toBe('written');
    expect(await write('first', { apiKey: 'two' }, '99999999-2222-4333-8444-555555555555')).toBe('not-ours');
    expect(dataOf('first')).toEqual({ apiKey: 'b25l' });
  });
});
