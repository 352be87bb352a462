import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../support/repository-root.js';
import { renderOperator, type Manifest } from './support/helm.js';

// The table of rights in SECURITY.md lists every verb of every role, and nothing else.

type Rule = {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
};
type Role = Manifest & { readonly rules: readonly Rule[] };
type Binding = Manifest & { readonly roleRef: { readonly kind: string; readonly name: string } };

const groups: Readonly<Record<string, string>> = {
  configmaps: '',
  secrets: '',
  leases: 'coordination.k8s.io',
  events: 'events.k8s.io',
  rolebindings: 'rbac.authorization.k8s.io',
  clusterroles: 'rbac.authorization.k8s.io',
};

/** Roles by the end of their name: whose they are. */
const holders: Readonly<Record<string, string>> = {
  operator: 'operator',
  'connection-secrets': 'operator',
  dashboard: 'dashboard',
  tenant: 'dashboard',
  rpc: 'rpc',
  'kube-state-metrics': 'kube-state-metrics',
  view: 'people with view',
  edit: 'people with edit',
};

const prefix = /^(?:paymaster-system-)?paymaster-/;

const manifests = renderOperator({
  release: 'paymaster',
  namespace: 'paymaster-system',
  set: [
    'postgres.bundled.enabled=true',
    'ledger.enabled=true',
    'monitoring.kubeStateMetrics.enabled=true',
    'monitoring.kubeStateMetrics.serviceAccount.name=ksm',
    'monitoring.kubeStateMetrics.serviceAccount.namespace=monitoring',
  ],
});

test('the table of rights in SECURITY.md is what the chart gives', () => {
  expect(written()).toEqual(rendered());
});

test('every right in the table has a reason', () => {
  expect(rows().filter(({ why }) => why.length < 10)).toEqual([]);
});

function rendered(): readonly string[] {
  const bindings = manifests.filter(isBinding);
  const roles = manifests.filter(isRole);
  return flat(
    roles.flatMap((role) => {
      const end = role.metadata.name.replace(prefix, '');
      const account = holders[end] ?? role.metadata.name;
      const where = placeOf(role, bindings, account);
      return role.rules.map(({ apiGroups, resources, resourceNames = [], verbs }) => ({
        account,
        where,
        resources: apiGroups.flatMap((group) =>
          resources.map((resource) =>
            group === (groups[resource] ?? 'paymasters.dev') ? resource : `${group}/${resource}`,
          ),
        ),
        names: resourceNames,
        verbs,
      }));
    }),
  );
}

const isBinding = (manifest: Manifest): manifest is Binding => manifest.kind.endsWith('RoleBinding');
const isRole = (manifest: Manifest): manifest is Role => /^(Cluster)?Role$/.test(manifest.kind);

function placeOf(role: Role, bindings: readonly Binding[], account: string): string {
  if (account.startsWith('people')) return 'where they have it';
  const bound = bindings.filter(({ roleRef }) => roleRef.kind === role.kind && roleRef.name === role.metadata.name);
  if (bound.length === 0) return 'Organisations';
  return bound.map(({ kind }) => (kind === 'ClusterRoleBinding' ? 'cluster' : 'its namespace')).join();
}

function written(): readonly string[] {
  return flat(
    rows().map(({ account, where, what, verbs }) => {
      const [, resources = '', names] = /^([^(]*?)(?: \((.*)\))?$/.exec(what) ?? [];
      return {
        account,
        where,
        resources: resources.split(', '),
        names: names?.split(', ') ?? [],
        verbs: verbs.split(', '),
      };
    }),
  );
}

function rows() {
  const text = readFileSync(join(repositoryRoot, 'SECURITY.md'), 'utf8');
  const section = text.split('## Rights in the cluster')[1]?.split('\n## ')[0] ?? '';
  const lines = section.split('\n').filter((line) => line.startsWith('| ')).slice(1);
  expect(lines.length).toBeGreaterThan(20);
  return lines.map((line) => {
    const [account = '', where = '', what = '', verbs = '', why = ''] = line.slice(2, -2).split(' | ');
    return { account, where, what, verbs, why };
  });
}

type Right = {
  readonly account: string;
  readonly where: string;
  readonly resources: readonly string[];
  readonly names: readonly string[];
  readonly verbs: readonly string[];
};

function flat(rights: readonly Right[]): readonly string[] {
  const all = rights.flatMap(({ account, where, resources, names, verbs }) =>
    resources.flatMap((resource) =>
      (names.length === 0 ? ['any'] : names).flatMap((name) =>
        verbs.map((verb) => `${account}, ${where}: ${verb} ${resource} ${name}`),
      ),
    ),
  );
  return [...new Set(all)].toSorted();
}
