import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { join } from 'node:path';
import { startControlPlane, type ControlPlane } from '../support/cluster/control-plane.js';
import { repositoryRoot } from '../support/repository-root.js';
import { kubectl, mustKubectl } from './support/cluster.js';
import { crdsChart, helm, operatorChart } from './support/helm.js';

// Releases of helm on a real API server, beside what was applied with kubectl.

let cluster: ControlPlane;
beforeAll(async () => {
  cluster = await startControlPlane();
  mustKubectl(cluster, ['create', 'namespace', 'team-a']);
});
afterAll(() => cluster?.stop());

describe('the release of the definitions', () => {
  const kubeconfig = (): string => `--kubeconfig=${cluster.kubeconfig('admin')}`;
  const release = (...args: readonly string[]) =>
    helm([...args, kubeconfig(), '--namespace=paymaster-crds']);
  const paymaster = {
    apiVersion: 'paymasters.dev/v1alpha1',
    kind: 'Paymaster',
    metadata: { name: 'shop', namespace: 'team-a' },
    spec: { name: 'shop', chainId: 1, type: 'HYBRID', version: '1.1.0', defaultContractAction: 'Deny' },
  };
  const names = ['addresslists', 'chainconfigs', 'chains', 'feetokens', 'organisations', 'paymasterconfigs']
    .concat(['paymasterpolicies', 'paymasters', 'smartcontracts'])
    .map((plural) => `${plural}.paymasters.dev`);
  const established = (): string =>
    mustKubectl(cluster, ['wait', '--for=condition=Established', '--timeout=240s', 'crd', ...names]);

  test('takes over definitions that were applied with kubectl', () => {
    mustKubectl(cluster, ['apply', '--server-side', '-f', join(repositoryRoot, 'crds/paymasters.yaml')]);
    mustKubectl(cluster, ['create', 'namespace', 'paymaster-crds']);
    const install = release('install', 'paymaster-crds', crdsChart, '--take-ownership', '--force-conflicts');
    expect(install.stderr).toBe('');
    expect(established().match(/condition met/g)).toHaveLength(names.length);
    mustKubectl(cluster, ['apply', '-f', '-'], JSON.stringify(paymaster));
  });

  test('brings back what an older version of a definition lacks when it is upgraded', () => {
    const path = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/suspended';
    mustKubectl(cluster, [
      'patch',
      'crd',
      'paymasters.paymasters.dev',
      '--type=json',
      `--patch=[{"op":"remove","path":"${path}"}]`,
    ]);
    const read = (): string =>
      mustKubectl(cluster, [
        'get',
        'crd',
        'paymasters.paymasters.dev',
        '-o=jsonpath={.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.suspended.type}',
      ]);
    expect(read()).toBe('');
    expect(release('upgrade', 'paymaster-crds', crdsChart, '--force-conflicts')).toMatchObject({ ok: true });
    expect(read()).toBe('boolean');
  });

  test('leaves definitions and resources when it is uninstalled, and finds them when it is installed again', () => {
    expect(release('uninstall', 'paymaster-crds').ok).toBe(true);
    const stored = (): string =>
      mustKubectl(cluster, ['get', 'paymaster', 'shop', '-n', 'team-a', '-o=jsonpath={.spec.name}']);
    expect(stored()).toBe('shop');
    expect(release('install', 'paymaster-crds', crdsChart)).toMatchObject({ ok: true });
    expect(stored()).toBe('shop');
  });
});

describe('install.yaml on a cluster that was installed with helm', () => {
  const system = 'paymaster-system';
  const file = join(repositoryRoot, 'charts/install.yaml');
  const install = (...args: readonly string[]) => kubectl(cluster, ['apply', '--server-side', '-f', file, ...args]);
  const release = (...args: readonly string[]) =>
    helm([...args, `--kubeconfig=${cluster.kubeconfig('admin')}`, `--namespace=${system}`]);

  test('conflicts with no field of a release of the same values', () => {
    kubectl(cluster, ['create', 'namespace', system]);
    const definitions = release('install', 'paymaster-crds', crdsChart, '--take-ownership', '--force-conflicts');
    expect(definitions).toMatchObject({ ok: true, stderr: '' });
    const values = '--set=postgres.bundled.enabled=true,networkPolicy.apiServer.anywhere=true';
    expect(release('install', 'paymaster', operatorChart, values)).toMatchObject({ ok: true, stderr: '' });
    expect(install()).toMatchObject({ ok: true, stderr: '' });
    expect(release('upgrade', 'paymaster', operatorChart, values)).toMatchObject({ ok: true, stderr: '' });
  }, 400_000);

  test('names what another release has set otherwise, and helm takes it back', () => {
    const values = ['--set=postgres.bundled.enabled=true,networkPolicy.apiServer.anywhere=true', '--set=rpc.replicas=5'];
    const upgrade = () => release('upgrade', 'paymaster', operatorChart, ...values, '--force-conflicts');
    expect(upgrade()).toMatchObject({ ok: true });
    const conflicts = install().stderr.match(/Apply failed with .*/g);
    expect(conflicts).toEqual(['Apply failed with 1 conflict: conflict with "helm": .spec.replicas']);
    expect(upgrade()).toMatchObject({ ok: true, stderr: '' });
  }, 400_000);

  test('conflicts with nothing that a release has left', () => {
    expect(release('uninstall', 'paymaster')).toMatchObject({ ok: true });
    expect(release('uninstall', 'paymaster-crds')).toMatchObject({ ok: true });
    expect(install()).toMatchObject({ ok: true, stderr: '' });
  }, 400_000);
});
