import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { join } from 'node:path';
import type { KubeTransport } from '../../adapters/kube/transport.js';
import { startControlPlane, type ControlPlane } from '../support/cluster/control-plane.js';
import { repositoryRoot } from '../support/repository-root.js';
import { until } from '../support/until.js';
import { kubectl, mustKubectl, serviceAccount } from './support/cluster.js';
import { renderOperator } from './support/helm.js';

// The rendered roles on a real API server: what each ServiceAccount may do, and what it may not.

const system = 'gas-system';
const tenant = 'team-a';
const elsewhere = 'team-b';
const operator = serviceAccount(system, 'gas-paymaster-operator');
const dashboard = serviceAccount(system, 'gas-paymaster-dashboard');
const rpc = serviceAccount(system, 'gas-paymaster-rpc');

const ownOnly = 'the operator binds its own two roles to its own accounts only';
const tenantRole = 'gas-system-gas-paymaster-tenant';
const secretsRole = 'gas-system-gas-paymaster-connection-secrets';
const dashboardBinding = binding('paymaster-dashboard', tenantRole, 'gas-paymaster-dashboard', tenant);
const secretsBinding = binding('paymaster-connection-secrets', secretsRole, 'gas-paymaster-operator', tenant);
const stranger = binding('paymaster-dashboard', tenantRole, 'somebody', tenant);

function binding(name: string, role: string, account: string, namespace: string) {
  const subjects: readonly { readonly kind: string; readonly name: string; readonly namespace?: string }[] = [
    { kind: 'ServiceAccount', name: account, namespace: system },
  ];
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name, namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects,
  };
}

let cluster: ControlPlane;
let transport: KubeTransport;
beforeAll(async () => {
  cluster = await startControlPlane();
  transport = cluster.transport();
  mustKubectl(cluster, ['apply', '--server-side', '-f', join(repositoryRoot, 'crds')]);
  for (const name of [system, tenant, elsewhere]) mustKubectl(cluster, ['create', 'namespace', name]);
  for (const name of [tenant, elsewhere])
    mustKubectl(cluster, ['label', 'namespace', name, 'paymasters.dev/organisation=true']);
  const roles = renderOperator({ namespace: system, set: ['postgres.bundled.enabled=true', 'ledger.enabled=true'] }).filter(({ kind }) =>
    /Role|ServiceAccount|Validating/.test(kind),
  );
  mustKubectl(
    cluster,
    ['apply', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: roles }),
  );
  await until('the policy is enforced', () => bind(stranger, ['--dry-run=server']).stderr.includes(ownOnly));
  // As the operator does for an Organisation.
  for (const binding of [dashboardBinding, secretsBinding]) expect(bind(binding).stderr).toBe('');
  await until('the roles are known to the authorizer', () =>
    isAllowed(dashboard, 'create', 'paymasters', tenant),
  );
  await until('the operator has its access', () => isAllowed(operator, 'update', 'secrets', tenant, 'connection'));
});
afterAll(async () => {
  await transport?.stop();
  await cluster?.stop();
});

type Question = readonly [verb: string, resource: string, namespace?: string, name?: string];

/** Kinds that the operator judges. */
const judged = ['chains', 'feetokens', 'organisations', 'paymasters', 'smartcontracts', 'paymasterpolicies'];
const users = [...judged, 'dashboardtokens'];
const tenants = ['paymasters', 'smartcontracts', 'paymasterpolicies', 'dashboardtokens'];
const compiled = ['paymasterconfigs', 'chainconfigs', 'addresslists'];
const changes = ['create', 'update', 'patch', 'delete'];
const product = (
  verbs: readonly string[],
  resources: readonly string[],
  namespace?: string,
): readonly Question[] =>
  verbs.flatMap((verb) =>
    resources.map((resource): Question => (namespace ? [verb, resource, namespace] : [verb, resource])),
  );

type Account = {
  readonly name: string;
  readonly user: string;
  readonly may: readonly Question[];
  readonly mayNot: readonly Question[];
};

const accounts: readonly Account[] = [
  {
    name: 'the operator',
    user: operator,
    may: [
      ...product(['list', 'watch'], judged),
      ...product(
        ['patch'],
        judged.map((resource) => `${resource}/status`),
      ),
      ...product(['get', 'list', 'watch', 'create', 'update', 'delete'], compiled, system),
      ['create', 'leases.coordination.k8s.io', system],
      ['update', 'leases.coordination.k8s.io', system, 'gas-paymaster-operator'],
      ['create', 'events.events.k8s.io', tenant],
      ['patch', 'events.events.k8s.io', tenant],
      ['create', 'rolebindings.rbac.authorization.k8s.io', tenant],
      ...['paymaster-dashboard', 'paymaster-connection-secrets'].flatMap((name) =>
        ['get', 'list', 'watch', 'update', 'delete'].map(
          (verb): Question => [verb, 'rolebindings.rbac.authorization.k8s.io', tenant, name],
        ),
      ),
      ...['tenant', 'connection-secrets'].map(
        (name): Question => ['bind', 'clusterroles.rbac.authorization.k8s.io', '', `gas-system-gas-paymaster-${name}`],
      ),
      ...['create', 'update'].map((verb): Question => [verb, 'secrets', tenant]),
      ...['paymaster-reports', 'paymaster-usage-epochs', 'paymaster-master-keys'].flatMap((name) =>
        ['list', 'watch'].map((verb): Question => [verb, 'configmaps', system, name]),
      ),
      ['create', 'configmaps', system],
      ['update', 'configmaps', system, 'paymaster-master-keys'],
    ],
    mayNot: [
      ...product(['get'], judged, tenant),
      // What users write stays theirs.
      ...product(changes, users, tenant),
      ...product(['get', 'list', 'watch'], ['dashboardtokens'], tenant),
      ...product(changes, compiled, tenant),
      // Reading, and `patch`, whose refusals show values.
      ...product(['get', 'list', 'watch', 'patch', 'delete'], ['secrets'], tenant),
      ['list', 'secrets', system],
      // Only where an Organisation is.
      ...product(['get', 'create', 'update'], ['secrets'], elsewhere),
      ...product(['get', 'create', 'update'], ['secrets'], system),
      ...product(['get', 'create', 'update'], ['secrets']),
      ['update', 'leases.coordination.k8s.io', system, 'another'],
      ['bind', 'clusterroles.rbac.authorization.k8s.io', '', 'cluster-admin'],
      ['escalate', 'clusterroles.rbac.authorization.k8s.io', '', 'gas-system-gas-paymaster-tenant'],
      ['create', 'clusterrolebindings.rbac.authorization.k8s.io'],
      ['delete', 'rolebindings.rbac.authorization.k8s.io', tenant, 'somebody-elses'],
      ['list', 'rolebindings.rbac.authorization.k8s.io', tenant],
      ['list', 'rolebindings.rbac.authorization.k8s.io'],
      ['list', 'pods', system],
      ['get', 'configmaps', system],
      ...product(['update', 'patch', 'delete', 'list', 'watch'], ['configmaps'], system),
      ['create', 'configmaps', tenant],
      ['update', 'configmaps', system, 'paymaster-usage-epochs'],
      ['update', 'configmaps', system, 'paymaster-reports'],
      ['list', 'namespaces'],
    ],
  },
  {
    name: 'the dashboard',
    user: dashboard,
    may: [
      ...product(['get', 'list', 'watch'], ['organisations']),
      // Which token a caller has sent: it may be of any organisation. Those that end take others with them.
      ...product(['list', 'watch'], ['dashboardtokens']),
      ...product(['list'], ['chains', 'feetokens']),
      ...product(['get', 'list', 'create', 'patch', 'delete'], tenants, tenant),
      ['create', 'events.events.k8s.io', tenant],
      ...product(['get', 'list'], ['paymasterconfigs'], system),
      // What the rules of a paymaster say.
      ...product(['get'], ['chainconfigs', 'addresslists'], system),
      ...['list', 'watch'].map((verb): Question => [verb, 'configmaps', system, 'paymaster-master-keys']),
      ['get', 'configmaps', system, 'paymaster-usage-epochs'],
    ],
    mayNot: [
      ...product(['list', 'watch'], ['chainconfigs', 'addresslists'], system),
      // Only where the operator has bound it.
      ...product(['get', 'create', 'patch', 'delete'], tenants, elsewhere),
      ['create', 'events.events.k8s.io', elsewhere],
      ...product(['list', 'patch'], ['events.events.k8s.io'], tenant),
      ...product(['get', 'create', 'patch', 'delete'], tenants, system),
      ...product(['list'], ['paymasters', 'smartcontracts', 'paymasterpolicies'], elsewhere),
      ...product(['list'], ['paymasters', 'smartcontracts', 'paymasterpolicies'], system),
      ...product(
        ['patch', 'update'],
        tenants.map((resource) => `${resource}/status`),
        tenant,
      ),
      ...product(changes, ['organisations', 'chains', 'feetokens']),
      ...product(changes, compiled, system),
      ...product(['get', 'list', 'create'], ['secrets'], tenant),
      ...product(['get', 'list', 'create'], ['secrets'], system),
      ...product(['get', 'list', ...changes], ['configmaps'], system),
      ['update', 'configmaps', system, 'paymaster-master-keys'],
      ['update', 'configmaps', system, 'paymaster-usage-epochs'],
      ['create', 'rolebindings.rbac.authorization.k8s.io', tenant],
      ['update', 'leases.coordination.k8s.io', system, 'gas-paymaster-operator'],
    ],
  },
  {
    name: 'the rpc role',
    user: rpc,
    may: [
      ...product(['list', 'watch'], compiled, system),
      ...product(['get'], ['paymasterconfigs', 'chainconfigs'], system),
      ...['paymaster-usage-epochs', 'paymaster-reports'].flatMap((name) =>
        ['get', 'update'].map((verb): Question => [verb, 'configmaps', system, name]),
      ),
      ...['list', 'watch'].map((verb): Question => [verb, 'configmaps', system, 'paymaster-master-keys']),
    ],
    mayNot: [
      ['update', 'configmaps', system, 'another'],
      ['update', 'configmaps', system, 'paymaster-master-keys'],
      ['delete', 'configmaps', system, 'paymaster-reports'],
      ...product(changes, compiled, system),
      ...product(['get', 'list', 'watch'], compiled, tenant),
      ...product(['get', 'list', 'watch', ...changes], users, tenant),
      ...product(['get', 'list', 'watch', 'create'], ['secrets'], system),
      ...product(['get', 'list'], ['secrets', 'configmaps', 'pods'], tenant),
      ['update', 'leases.coordination.k8s.io', system, 'gas-paymaster-operator'],
      ['create', 'events', system],
    ],
  },
];

describe.each(accounts)('$name', ({ user, may, mayNot }) => {
  test('may do what it does', async () => {
    // The authorizer follows roles and bindings each by itself.
    let denied: readonly string[] = [];
    await until(
      () => `it may ${denied.join(', ')}`,
      async () => {
        denied = await refused(user, may);
        return denied.length === 0;
      },
    );
    expect(denied).toEqual([]);
  });

  test('may not do anything else that would matter', async () => {
    const refusals = await refused(user, mayNot);
    expect(mayNot.filter((question) => !refusals.includes(question.join(' ')))).toEqual([]);
  });
});

describe('the right to bind', () => {
  const named = (role: string) => binding('paymaster-dashboard', role, 'gas-paymaster-dashboard', elsewhere);

  test.each(['cluster-admin', 'gas-system-gas-paymaster-edit'])('does not reach the role %s', (role) => {
    expect(bind(named(role)).stderr).toMatch(/attempting to grant RBAC permissions not currently held/);
  });

  test.each([
    { name: 'another account', object: stranger },
    { name: 'an account of another namespace', object: inNamespace(dashboardBinding, elsewhere, tenant) },
    {
      name: 'somebody else besides',
      object: { ...dashboardBinding, subjects: [...dashboardBinding.subjects, { kind: 'User', name: 'mallory' }] },
    },
    {
      name: 'the dashboard, of the role that reads Secrets',
      object: binding('paymaster-connection-secrets', secretsRole, 'gas-paymaster-dashboard', elsewhere),
    },
    {
      name: 'the operator, of the role of the dashboard',
      object: binding('paymaster-dashboard', tenantRole, 'gas-paymaster-operator', elsewhere),
    },
    {
      name: 'the dashboard under another name',
      object: binding('backdoor', tenantRole, 'gas-paymaster-dashboard', elsewhere),
    },
  ])('does not reach $name', ({ object }) => {
    const run = bind(inNamespace(object, elsewhere));
    expect(run.ok).toBe(false);
    expect(run.stderr).toContain(ownOnly);
  });

  test('keeps what was bound as it is', () => {
    const run = kubectl(
      cluster,
      [`--as=${operator}`, 'replace', '-f', '-'],
      JSON.stringify({ ...dashboardBinding, subjects: stranger.subjects }),
    );
    expect(run.stderr).toContain(ownOnly);
  });

  test('of people is not touched: an administrator binds whom he likes', () => {
    const object = inNamespace(stranger, elsewhere);
    expect(kubectl(cluster, ['create', '--dry-run=server', '-f', '-'], JSON.stringify(object))).toMatchObject({ ok: true });
  });
});

describe('users with the built-in roles', () => {
  // The controller manager, which aggregates roles, does not run here: the test checks labels and rules.
  const roles = renderOperator({ namespace: system, set: ['postgres.bundled.enabled=true', 'ledger.enabled=true'] }).filter(
    ({ kind, metadata }) =>
      kind === 'ClusterRole' &&
      Object.keys(metadata.labels ?? {}).some((label) =>
        label.startsWith('rbac.authorization.k8s.io/aggregate-to-'),
      ),
  );

  test('see paymasters as viewers and change them as editors, and never their status', () => {
    expect(
      roles.map(({ metadata }) =>
        Object.keys(metadata.labels ?? {}).flatMap((label) => label.split('aggregate-to-')[1] ?? []),
      ),
    ).toEqual([
      ['view', 'edit', 'admin'],
      ['edit', 'admin'],
    ]);
    expect(JSON.stringify(roles)).not.toContain('/status');
  });
});

function bind(object: object, flags: readonly string[] = []) {
  return kubectl(cluster, [`--as=${operator}`, 'create', ...flags, '-f', '-'], JSON.stringify(object));
}

type Binding = ReturnType<typeof binding>;

/** The same in another namespace, and to accounts of another one. */
function inNamespace(object: Binding, namespace: string, accounts?: string): Binding {
  return {
    ...object,
    metadata: { ...object.metadata, namespace },
    subjects: object.subjects.map((subject) => (accounts === undefined ? subject : { ...subject, namespace: accounts })),
  };
}

async function refused(user: string, questions: readonly Question[]): Promise<readonly string[]> {
  const answers = await Promise.all(
    questions.map(async (question) => ({ question, allowed: await isAllowed(user, ...question) })),
  );
  return answers.filter(({ allowed }) => !allowed).map(({ question }) => question.join(' '));
}

async function isAllowed(
  user: string,
  verb: string,
  resource: string,
  namespace = '',
  name = '',
): Promise<boolean> {
  const [path = '', subresource] = resource.split('/');
  const [plural = '', ...groups] = path.split('.');
  const isOurs = users.includes(plural) || compiled.includes(plural);
  const review = await fetchReview({
    user,
    groups: ['system:serviceaccounts', 'system:authenticated'],
    resourceAttributes: {
      verb,
      group: isOurs ? 'paymasters.dev' : groups.join('.'),
      resource: plural,
      ...(subresource === undefined ? {} : { subresource }),
      ...(namespace === '' ? {} : { namespace }),
      ...(name === '' ? {} : { name }),
    },
  });
  return review.status.allowed;
}

async function fetchReview(spec: object): Promise<{ readonly status: { readonly allowed: boolean } }> {
  return (await transport.request({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec },
  })) as { readonly status: { readonly allowed: boolean } };
}
