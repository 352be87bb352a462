import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { join } from 'node:path';
import { startControlPlane, type ControlPlane } from '../support/cluster/control-plane.js';
import { repositoryRoot } from '../support/repository-root.js';
import { until } from '../support/until.js';
import { kubectl, mustKubectl, serviceAccount, type KubectlRun } from './support/cluster.js';
import { renderOperator } from './support/helm.js';

// The admission policies on a real API server, in both directions.

const system = 'gas-system';
const tenant = 'team-a';
const operator = serviceAccount(system, 'gas-paymaster-operator');
const apiVersion = 'paymasters.dev/v1alpha1';

let cluster: ControlPlane;
beforeAll(async () => {
  cluster = await startControlPlane();
  mustKubectl(cluster, ['apply', '--server-side', '-f', join(repositoryRoot, 'crds')]);
  for (const name of [system, tenant]) mustKubectl(cluster, ['create', 'namespace', name]);
  apply(chain('old', 5));
  const manifests = renderOperator({
    namespace: system,
    set: [
      'postgres.bundled.enabled=true',
      'admission.chainAllowList.enabled=true',
      'admission.chainAllowList.chainIds={1,137}',
    ],
  }).filter(({ kind, metadata }) =>
    /^(Validating|Cluster|Role|ServiceAccount)/.test(kind) || metadata.name.endsWith('-allowed-chains'),
  );
  mustKubectl(
    cluster,
    ['apply', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests }),
  );
  // A policy takes effect a moment after it was written, and its parameters another moment later.
  await until(
    'the policies are enforced',
    () =>
      [compiled('probe'), chain('probe', 999)].every(
        (object) => !tryApply(object, ['--dry-run=server']).ok,
      ) && tryApply(chain('probe', 137), ['--dry-run=server']).ok,
  );
});
afterAll(() => cluster?.stop());

describe('compiled objects', () => {
  test('are written and removed by the operator', () => {
    asOperator('create', compiled('one'));
    asOperator('replace', { ...compiled('one'), spec: { ...compiled('one').spec, hash: 'b'.repeat(64) } });
    mustKubectl(cluster, [`--as=${operator}`, 'delete', 'chainconfig', 'one', '-n', system]);
  });

  test('are refused from anybody else, the administrator included, with what to change instead', () => {
    const run = tryApply(compiled('two'));
    expect(run.ok).toBe(false);
    expect(run.stderr).toContain(
      `compiled objects are written by the operator (${operator}) only: change the Paymaster, SmartContract, PaymasterPolicy, Chain or FeeToken that it is made from`,
    );
  });

  test('are neither changed nor removed by anybody else', () => {
    asOperator('create', compiled('three'));
    expect(
      tryApply({ ...compiled('three'), spec: { ...compiled('three').spec, hash: 'c'.repeat(64) } }).stderr,
    ).toContain('compiled objects are written by the operator');
    expect(kubectl(cluster, ['delete', 'chainconfig', 'three', '-n', system]).stderr).toContain(
      'compiled objects are written by the operator',
    );
    expect(mustKubectl(cluster, ['get', 'chainconfig', 'three', '-n', system, '-o=name'])).toContain('three');
  });

  test("are removed with their namespace: its controller's deletions pass", () => {
    asOperator('create', compiled('four'));
    mustKubectl(cluster, [
      '--as=system:serviceaccount:kube-system:namespace-controller',
      '--as-group=system:masters',
      'delete',
      'chainconfig',
      'four',
      '-n',
      system,
    ]);
  });
});

describe('the list of allowed chains', () => {
  test('lets a chain and a paymaster of a listed chain pass', () => {
    apply(chain('polygon', 137));
    apply(paymaster('listed', 137));
  });

  test.each([
    { name: 'a chain', object: chain('base', 8453), chainId: 8453 },
    { name: 'a paymaster', object: paymaster('unlisted', 10), chainId: 10 },
  ])('refuses $name of any other, naming those listed and whom to ask', ({ object, chainId }) => {
    const run = tryApply(object);
    expect(run.ok).toBe(false);
    expect(run.stderr).toContain(
      `spec.chainId must be one of 1,137, got ${chainId}: ask the platform to add it to ConfigMap gas-system/gas-paymaster-allowed-chains`,
    );
  });

  test('keeps what stood before manageable', () => {
    apply({ ...chain('old', 5), spec: { ...chain('old', 5).spec, suspended: true } });
  });

  test('follows a change of its one ConfigMap', async () => {
    mustKubectl(cluster, [
      'patch',
      'configmap',
      'gas-paymaster-allowed-chains',
      '-n',
      system,
      '--patch={"data":{"chainIds":"1, 137, 8453"}}',
    ]);
    await until('the new list is used', () => tryApply(chain('base', 8453)).ok);
    expect(tryApply(paymaster('unlisted', 10)).stderr).toContain('must be one of 1, 137, 8453, got 10');
  });

  test('allows nothing without its ConfigMap', async () => {
    mustKubectl(cluster, ['delete', 'configmap', 'gas-paymaster-allowed-chains', '-n', system]);
    await until('the list is gone', () => !tryApply(paymaster('later', 137), ['--dry-run=server']).ok);
    expect(tryApply(paymaster('later', 137)).stderr).toMatch(/no params found|failed to find|not found/i);
  });
});

/** Compiled objects are not written by server-side apply. */
function asOperator(verb: 'create' | 'replace', object: object): void {
  mustKubectl(cluster, [`--as=${operator}`, verb, '-f', '-'], JSON.stringify(object));
}

function apply(object: object): void {
  mustKubectl(cluster, ['apply', '--server-side', '--force-conflicts', '-f', '-'], JSON.stringify(object));
}

function tryApply(object: object, flags: readonly string[] = []): KubectlRun {
  return kubectl(
    cluster,
    ['apply', '--server-side', '--force-conflicts', ...flags, '-f', '-'],
    JSON.stringify(object),
  );
}

function compiled(name: string) {
  return {
    apiVersion,
    kind: 'ChainConfig',
    metadata: { name, namespace: system },
    spec: { hash: 'a'.repeat(64), config: '{}' },
  };
}

function chain(name: string, chainId: number) {
  return {
    apiVersion,
    kind: 'Chain',
    metadata: { name },
    spec: {
      chainId,
      rpc: { urls: ['https://rpc.example.org'] },
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      profiles: [],
    },
  };
}

function paymaster(name: string, chainId: number) {
  return {
    apiVersion,
    kind: 'Paymaster',
    metadata: { name, namespace: tenant },
    spec: { name, chainId, type: 'HYBRID', version: '1.1.0', defaultContractAction: 'Deny' },
  };
}
