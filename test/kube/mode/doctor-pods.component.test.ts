import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ProblemRecord } from '../../../core/problems/render.js';
import { paymaster } from '../../support/paymaster.js';
import { until } from '../../support/until.js';
import { useStarted } from '../../support/use-started.js';
import { claimPlane } from './claimed-plane.js';

// `paymaster doctor --pods` through a real API server, which asks the pods itself. What answers here are servers of this test.

const namespace = 'doctor-pods';
const failing = { name: 'usage-store', ready: false, reason: 'not connected', action: 'Start PostgreSQL.' };
const asked: string[] = [];
const plane = useStarted(() => claimPlane([namespace]));
let server: Server;
/** Files of people who may read, and who may nothing. */
let night: string;
let stranger: string;
beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(String(request.url));
    response.writeHead(503, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ ready: false, checks: [{ name: 'serving', ready: true }, failing] }));
  });
  await new Promise<void>((resolve) => server.listen(0, ownAddress(), resolve));
  const { port } = server.address() as AddressInfo;
  await addPod('rpc-away', { component: 'rpc', port, message: 'containers with unready status: [rpc]' });
  await addPod('rpc-silent', { component: 'rpc', port: 1, message: 'containers with unready status: [rpc]' });
  await addPod('dashboard-silent', { component: 'dashboard', port: 1 });
  await addPod('helm-test', { component: 'test', port });
  await addPod('neighbour', { component: 'rpc', port, partOf: 'something-else' });
  night = await plane.kubeconfigOfAccount(namespace, 'night');
  stranger = await plane.kubeconfigOfAccount(namespace, 'stranger');
  const role = 'doctor-pods-reader';
  const account = `--serviceaccount=${namespace}:night`;
  plane.kubectl(['create', 'clusterrole', role, '--verb=get,list', '--resource=pods,*.paymasters.dev']);
  plane.kubectl(['create', 'clusterrolebinding', role, `--clusterrole=${role}`, account]);
  // The authorizer follows changes of roles like any other watcher.
  await until('the reader may read', async () => (await doctor(night)).status !== 3);
});
afterAll(() => {
  server?.close();
});

/** The API server asks no pod on a loopback address. */
function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const found = all.find(({ family, internal }) => family === 'IPv4' && !internal);
  if (found === undefined) throw new Error('this test needs an IPv4 address that is not loopback');
  return found.address;
}

/** `message`: why it is not ready; without one it is. */
async function addPod(
  name: string,
  options: { component: string; port: number; message?: string; partOf?: string },
): Promise<void> {
  const { component, port, message, partOf = 'paymaster-operator' } = options;
  const labels = { 'app.kubernetes.io/part-of': partOf, 'app.kubernetes.io/component': component };
  const ports = [
    { name: 'http', containerPort: 8080 },
    { name: 'ops', containerPort: port },
  ];
  const spec = { containers: [{ name: component, image: 'paymaster', ports }] };
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels }, spec };
  await plane.transport.request({ method: 'POST', path, body: pod });
  const status = message === undefined ? 'True' : 'False';
  const conditions = [{ type: 'Ready', status, ...(message === undefined ? {} : { message }) }];
  const podIPs = [{ ip: ownAddress() }];
  await plane.transport.request({
    method: 'PATCH',
    path: `${path}/${name}/status`,
    contentType: 'application/merge-patch+json',
    body: { status: { phase: 'Running', podIP: ownAddress(), podIPs, conditions } },
  });
}

async function doctor(kubeconfig: string, pods = namespace) {
  const args = ['doctor', '--kubeconfig', kubeconfig, '--pods', pods, '-o', 'json'];
  const { out, error, status } = await paymaster(args);
  const { problems } = (out === '' ? { problems: [] } : JSON.parse(out)) as { problems: ProblemRecord[] };
  const ofPods = problems.filter(({ noun }) => noun === 'processes');
  return { ofPods, error, status };
}

test('names what fails in a pod, the pod that is not ready and says nothing, and the one that nobody could ask', async () => {
  const { ofPods, error, status } = await doctor(plane.kubeconfig);
  expect(status).toBe(1);
  expect(ofPods).toEqual([
    expect.objectContaining({
      check: 'database-away',
      name: 'rpc-away',
      message: 'usage-store: not connected',
      remedy: 'Start PostgreSQL.',
    }),
    expect.objectContaining({
      check: 'replica-not-ready',
      name: 'rpc-silent',
      message: expect.stringMatching(
        /^containers with unready status: \[rpc\]; its checks cannot be read: .*connection refused/,
      ),
    }),
  ]);
  expect(error).toContain('dashboard-silent is ready; what it checks cannot be read');
  // Nobody else's, and none that serves nothing.
  expect(asked).toEqual(['/readyz']);
});

test('without the right to ask pods it says so, and still names those that are not ready', async () => {
  const { ofPods, error, status } = await doctor(night);
  expect(status).toBe(1);
  expect(ofPods.map(({ check, name }) => [check, name])).toEqual([
    ['replica-not-ready', 'rpc-away'],
    ['replica-not-ready', 'rpc-silent'],
  ]);
  for (const { message } of ofPods) expect(message).toContain('cannot get resource "pods/proxy"');
  expect(error).toContain('dashboard-silent is ready; what it checks cannot be read');
});

test('without the right to list them it is no all-clear', async () => {
  expect(await doctor(stranger)).toMatchObject({
    ofPods: [],
    status: 3,
    error: expect.stringContaining('the API server denied access'),
  });
});

test('a namespace without the installation is refused', async () => {
  expect(await doctor(plane.kubeconfig, 'default')).toMatchObject({
    status: 1,
    error: expect.stringContaining('"default" has no pods of the chart'),
  });
});
