import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { startControlPlane, type ControlPlane } from '../support/cluster/control-plane.js';
import { mustKubectl } from './support/cluster.js';
import { helm, operatorChart, reachAnywhere } from './support/helm.js';

// How many replicas an upgrade leaves, on a real API server: after an autoscaler was switched on or off, and after somebody has scaled.

const system = 'gas-system';
let cluster: ControlPlane;
let release = '';
let releases = 0;
beforeAll(async () => {
  cluster = await startControlPlane();
  mustKubectl(cluster, ['create', 'namespace', system]);
});
afterAll(() => cluster?.stop());

function run(verb: 'install' | 'upgrade', set: readonly string[]): void {
  const done = helm([
    verb,
    release,
    operatorChart,
    `--kubeconfig=${cluster.kubeconfig('admin')}`,
    `--namespace=${system}`,
    reachAnywhere,
    '--set=postgres.url=postgresql://paymaster@db.example.org/paymaster',
    ...set.map((each) => `--set=${each}`),
  ]);
  if (!done.ok) throw new Error(done.stderr);
}
const upgrade = (...set: string[]): void => run('upgrade', set);
const replicas = (component: string): number =>
  Number(mustKubectl(cluster, ['get', 'deployment', `${release}-paymaster-${component}`, `-n=${system}`, '-o=jsonpath={.spec.replicas}']));
/** As the restore of docs/database.md, and as an autoscaler: by the subresource. */
const scale = (component: string, to: number): string =>
  mustKubectl(cluster, ['scale', `deployment/${release}-paymaster-${component}`, `-n=${system}`, `--replicas=${to}`]);

// Nothing there collects what belongs to an uninstalled release.
beforeEach(() => {
  release = `gas${(releases += 1)}`;
  run('install', ['rpc.replicas=4']);
  expect(replicas('rpc')).toBe(4);
});

const components = ['rpc', 'dashboard', 'operator'];

test('an autoscaler begins from the replicas that run, and what it has set stays, also when it is switched off', () => {
  upgrade('rpc.replicas=4', 'rpc.autoscaling.enabled=true');
  expect(replicas('rpc')).toBe(4);
  scale('rpc', 7);
  upgrade('rpc.autoscaling.enabled=true');
  expect(replicas('rpc')).toBe(7);
  upgrade('rpc.replicas=4');
  expect(replicas('rpc')).toBe(7);
  const left = mustKubectl(cluster, ['get', 'hpa', `-n=${system}`, `-l=app.kubernetes.io/instance=${release}`, '-o=name']);
  expect(left).toBe('');
  upgrade('rpc.replicas=4', 'logLevel=debug');
  expect(replicas('rpc')).toBe(7);
});

test('what somebody has scaled stays, and no upgrade fails; until then the values say how many', () => {
  upgrade('rpc.replicas=5', 'dashboard.replicas=1');
  expect(components.map(replicas)).toEqual([5, 1, 2]);
  for (const component of components) scale(component, 6);
  upgrade('rpc.replicas=4');
  expect(components.map(replicas)).toEqual([6, 6, 6]);
});

test('after a restore, which scales to 0 and up again, an upgrade does not fail', () => {
  for (const component of components) scale(component, 0);
  for (const component of components) scale(component, 3);
  upgrade('rpc.replicas=4');
  // The API server forgets who has scaled to 0, so the figures are those of the values again.
  expect(components.map(replicas)).toEqual([4, 2, 2]);
});
