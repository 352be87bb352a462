import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { KubeTransport } from '../../../adapters/kube/transport.js';
import { group, version } from '../../../core/meta/meta.js';
import type { ProblemRecord } from '../../../core/problems/render.js';
import type { ResourceStore } from '../../../core/resources/resource-store.js';
import { systemClock } from '../../../core/units/time.js';
import { aChain } from '../../build/resources.js';
import { kubeconfigText } from '../../support/cluster/kubeconfig.js';
import { paymaster } from '../../support/paymaster.js';
import { until } from '../../support/until.js';
import { connectionOfThisRun } from './connection.js';
import { openResources, startKubeOperator } from './dashboard-world.js';
import { openUserParts } from './kube-worlds.js';

// What `paymaster doctor` names on a real API server that only an API server can have: a namespace that is not there, and an
// address that the store itself does not check.

const folder = mkdtempSync(join(tmpdir(), 'doctor-'));
const kubeconfig = join(folder, 'kubeconfig');
const inUse = `0x${'ab'.repeat(20)}`;
const mistyped = `0x${'Ab'.repeat(20)}`;
let admin: KubeTransport;
let resources: ResourceStore;
let stop: () => Promise<void>;
beforeAll(async () => {
  const connection = connectionOfThisRun();
  if (connection === undefined) throw new Error('start jest with --config=jest.kubernetes.config.js');
  const { server, ca, tokens } = connection.plane;
  writeFileSync(kubeconfig, kubeconfigText({ server, ca, token: tokens.admin }), { mode: 0o600 });
  const opened = await openUserParts(connection);
  stop = opened.stop;
  admin = opened.parts.transport('admin');
  resources = openResources(opened.parts, admin);
  await startKubeOperator(opened.parts, systemClock);
});
afterAll(async () => {
  await stop?.();
  rmSync(folder, { recursive: true, force: true });
});

/** Of the object with this name alone: other tests share the API server. */
async function named(check: string, object: string): Promise<readonly ProblemRecord[]> {
  const { out } = await paymaster(['doctor', '--kubeconfig', kubeconfig, '-o', 'json']);
  const { problems } = JSON.parse(out) as { problems: readonly ProblemRecord[] };
  return problems.filter((problem) => problem.check === check && problem.name === object);
}

test('the dashboard may not work where the namespace of an Organisation is missing', async () => {
  const key = { name: 'nowhere' };
  await resources.apply({ manager: 'platform', kind: 'Organisation', key, spec: { namespace: 'nowhere' } });
  await until('it is named', async () => (await named('no-access', key.name)).length > 0);
  expect(await named('no-access', key.name)).toEqual([
    expect.objectContaining({
      severity: 'warning',
      name: 'nowhere',
      condition: 'DashboardAccess',
      reason: 'NamespaceNotFound',
    }),
  ]);
  await resources.delete('Organisation', key);
  await until('it is over', async () => (await named('no-access', key.name)).length === 0);
});

test('an address in use that is typed with another checksum is a note, and goes on in use', async () => {
  const spec = { ...aChain().spec, chainId: 77_001 };
  const key = { name: 'mistyped' };
  const write = (delegates: readonly string[]) =>
    resources.apply({ manager: 'platform', kind: 'Chain', key, spec: { ...spec, delegates } });
  const conditions = async () => (await resources.get('Chain', key))?.status?.conditions ?? [];
  await write([inUse]);
  await until('it is in use', async () =>
    (await conditions()).some(({ type, status }) => type === 'Accepted' && status === 'True'),
  );
  expect(await named('address-checksum', key.name)).toEqual([]);
  await write([mistyped]);
  await until('it is named', async () => (await named('address-checksum', key.name)).length > 0);
  expect(await named('address-checksum', key.name)).toEqual([
    expect.objectContaining({
      severity: 'note',
      name: key.name,
      message: expect.stringMatching(/^spec\.delegates\[0\] must be .*EIP-55/),
      remedy: expect.stringMatching(/^Copy the address again from its source/),
    }),
  ]);
  expect(await conditions()).toContainEqual(expect.objectContaining({ type: 'Accepted', status: 'True' }));
});

test('an object that a finalizer keeps is a note until it is gone', async () => {
  const key = { name: 'kept' };
  const path = `/apis/${group}/${version}/organisations/${key.name}`;
  const setFinalizers = (finalizers: readonly string[]) =>
    admin.request({
      method: 'PATCH',
      path,
      contentType: 'application/merge-patch+json',
      body: { metadata: { finalizers } },
    });
  await resources.apply({ manager: 'platform', kind: 'Organisation', key, spec: { namespace: 'kept' } });
  await setFinalizers(['example.com/keep']);
  await resources.delete('Organisation', key);
  await until('it is named', async () => (await named('deleting', key.name)).length > 0);
  expect(await named('deleting', key.name)).toEqual([
    expect.objectContaining({
      severity: 'note',
      condition: 'Ready',
      reason: 'Deleting',
      remedy: expect.stringMatching(/^See what `metadata\.finalizers` waits for/),
    }),
  ]);
  await setFinalizers([]);
  await until('it is over', async () => (await named('deleting', key.name)).length === 0);
});
