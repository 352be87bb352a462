import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { startControlPlane, type ControlPlane } from '../support/cluster/control-plane.js';
import { repositoryRoot } from '../support/repository-root.js';
import { until } from '../support/until.js';
import { kubectl, mustKubectl } from './support/cluster.js';
import { renderOperator, type Manifest } from './support/helm.js';

// A real API server accepts the rendered charts unchanged, in a namespace that enforces `restricted`.

const namespace = 'gas-system';
/** Of objects whose definitions other projects install. */
const foreignGroups = ['monitoring.coreos.com/'];
const casesDirectory = join(repositoryRoot, 'test/charts/values');

let cluster: ControlPlane;
beforeAll(async () => {
  cluster = await startControlPlane();
  const routes = join(repositoryRoot, 'test/charts/definitions/httproutes.yaml');
  mustKubectl(cluster, ['apply', '--server-side', '-f', routes]);
  // Discovery follows a moment after the definition is established.
  const list = ['get', 'httproutes.gateway.networking.k8s.io', '--all-namespaces'];
  await until('routes are served', () => kubectl(cluster, list).ok, 120_000);
  const labels = ['enforce', 'warn', 'audit'].map((mode) => `pod-security.kubernetes.io/${mode}=restricted`);
  for (const name of [namespace, 'team-a', 'team-b']) {
    mustKubectl(cluster, ['create', 'namespace', name]);
    mustKubectl(cluster, ['label', 'namespace', name, ...labels]);
  }
});
afterAll(() => cluster?.stop());

function dryRun(manifests: readonly unknown[]) {
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests });
  return kubectl(
    cluster,
    ['apply', '--server-side', '--dry-run=server', '--warnings-as-errors', '-f', '-'],
    list,
  );
}

describe('a restricted namespace', () => {
  const rendered = readdirSync(casesDirectory).map((name) => ({
    name,
    manifests: renderOperator({ valuesFile: join(casesDirectory, name), namespace }),
  }));

  test.each(rendered)('accepts $name without a warning', ({ manifests }) => {
    const ours = manifests.filter(
      ({ apiVersion }) => !foreignGroups.some((group) => apiVersion.startsWith(group)),
    );
    expect(dryRun(ours)).toMatchObject({ ok: true, stderr: '' });
  });

  test('leaves a bundled database that was scaled down as it is, when the release is applied again', () => {
    const databases = renderOperator({
      namespace,
      set: ['postgres.bundled.enabled=true'],
    }).filter(({ kind }) => kind === 'StatefulSet');
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: databases });
    const upgrade = () => mustKubectl(cluster, ['apply', '--server-side', '--force-conflicts', '-f', '-'], list);
    const replicas = () =>
      mustKubectl(cluster, ['get', 'statefulset', `-n=${namespace}`, '-o=jsonpath={.items[*].spec.replicas}']);
    upgrade();
    expect(replicas()).toBe('1');
    mustKubectl(cluster, ['scale', 'statefulset', '--all', '--replicas=0', `-n=${namespace}`]);
    upgrade();
    expect(replicas()).toBe('0');
    mustKubectl(cluster, ['delete', 'statefulset', '--all', `-n=${namespace}`]);
  });

  test('accepts a route of the Gateway API for each component, and refuses one that its definition forbids', () => {
    const of = (component: string) =>
      `${component}.httpRoute={"enabled":true,"parentRefs":[{"name":"public","namespace":"gateways"}],"hostnames":["${component}.example.org"]}`;
    const routes = renderOperator({
      namespace,
      set: ['postgres.bundled.enabled=true'],
      flags: [`--set-json=${of('rpc')}`, `--set-json=${of('dashboard')}`],
    }).filter(({ kind }) => kind === 'HTTPRoute');
    expect(routes).toHaveLength(2);
    expect(dryRun(routes)).toMatchObject({ ok: true, stderr: '' });
    const broken = JSON.parse(JSON.stringify(routes).replaceAll('"/api/v1"', '"api/v1"')) as unknown[];
    expect(dryRun(broken).stderr).toContain("value must be an absolute path and start with '/'");
  });

  test.each(rendered)('admits the pods of $name', ({ manifests }) => {
    const pods = manifests.flatMap(podsOf);
    expect(pods.length).toBeGreaterThanOrEqual(3);
    for (const pod of pods) mustKubectl(cluster, ['apply', '-f', '-'], serviceAccountFor(pod));
    expect(dryRun(pods)).toMatchObject({ ok: true, stderr: '' });
  });

  test('refuses the same pods when they may write to their root', () => {
    const [pod] = rendered.flatMap(({ manifests }) => manifests.flatMap(podsOf));
    const loose = JSON.parse(
      JSON.stringify(pod).replaceAll('"allowPrivilegeEscalation":false', '"allowPrivilegeEscalation":true'),
    ) as unknown;
    const run = dryRun([loose]);
    expect(run.ok).toBe(false);
    expect(run.stderr).toContain('violates PodSecurity "restricted:latest"');
  });

  test('accepts install.yaml', () => {
    mustKubectl(cluster, ['create', 'namespace', 'paymaster-system']);
    const file = join(repositoryRoot, 'charts/install.yaml');
    expect(
      kubectl(cluster, ['apply', '--server-side', '--dry-run=server', '--warnings-as-errors', '-f', file]),
    ).toMatchObject({ ok: true });
  });
});

type PodTemplate = { readonly metadata: object; readonly spec: { readonly serviceAccountName?: string } };
type Pod = PodTemplate & { readonly metadata: { readonly namespace: string } };

function podsOf(manifest: Manifest): readonly Pod[] {
  const { kind, metadata } = manifest;
  if (kind === 'Pod') return [manifest as Manifest & Pod];
  if (kind !== 'Deployment' && kind !== 'StatefulSet') return [];
  const { template } = manifest.spec as { readonly template: PodTemplate };
  return [
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...template.metadata, name: metadata.name, namespace: metadata.namespace ?? '' },
      spec: template.spec,
    } as Pod,
  ];
}

/** The controller that makes each namespace's `default` account does not run here. */
function serviceAccountFor({ metadata, spec }: Pod): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: spec.serviceAccountName ?? 'default', namespace: metadata.namespace },
  });
}
