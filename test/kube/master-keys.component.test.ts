import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deriveApiKey } from '../../core/config/api-key.js';
import { deriveFingerprint } from '../../core/master-keys.js';
import { startCluster, type Cluster } from '../support/cluster/cluster.js';
import type { Component } from '../support/cluster/component.js';
import { applyQuickstart, describeQuickstart } from '../support/cluster/quickstart.js';
import type { Connection } from '../../standalone/connection.js';
import type { ProblemRecord } from '../../core/problems/render.js';
import { paymaster } from '../support/paymaster.js';
import { until } from '../support/until.js';
import { readerOf } from './support/read.js';
import { dashboard, freshUserOp, rpc, unlessBusy } from '../system/support/client.js';

// Rotates master keys as a kubelet does: the files of each pod are replaced at a different time, and no process restarts.

const patienceMs = 240_000;
const quiet = { step: () => () => {}, line: () => {}, warn: () => {} };

let cluster: Cluster;
let operator: Component;
let early: Component;
let late: Component;
let replica: Component;
let connection: Required<Connection>;
beforeAll(async () => {
  cluster = await startCluster({ console: quiet });
  operator = await cluster.start('operator', { environment: { PAYMASTER_KEY_SETTLE_SECONDS: '1' } });
  early = await cluster.start('dashboard', { path: '/healthz' });
  late = await cluster.start('dashboard', { path: '/healthz', index: 1 });
  applyQuickstart(cluster);
  replica = await cluster.start('rpc');
  const described = await describeQuickstart(
    cluster,
    { dashboard: early.origin, rpc: replica.origin },
    AbortSignal.timeout(patienceMs),
    patienceMs,
  );
  connection = described.connection as Required<Connection>;
}, 600_000);
afterAll(async () => {
  await cluster?.stop();
});

/** Turns the link `..data` of a pod's mounted Secret, as a kubelet does. */
function mount({ name }: Component, files: Readonly<Record<string, Uint8Array>>): void {
  const keys = join(cluster.directory, name, 'etc/paymaster/keys');
  const version = mkdtempSync(join(keys, '..version-'));
  mkdirSync(version, { recursive: true });
  for (const [file, key] of Object.entries(files))
    writeFileSync(join(version, file), Buffer.from(key).toString('hex'));
  symlinkSync(version, join(keys, '..next'));
  renameSync(join(keys, '..next'), join(keys, '..data'));
}

const apiKeyOf = (master: Uint8Array): string =>
  deriveApiKey(master, { namespace: 'quickstart', name: 'shop', keyGeneration: 1 });
const sponsors = async (apiKey: string): Promise<boolean> => {
  const url = `${replica.origin}/api/v1/${connection.chainId}/${apiKey}`;
  const asked = [freshUserOp(connection), { mode: 'SPONSORED', calculateGasLimits: false }];
  const { result } = await unlessBusy(() => rpc(url, 'pm_sponsorUserOperation', asked));
  return result?.['mode'] === 'SPONSORED';
};
/** The apiKey of the quickstart's paymaster as a dashboard shows it, or the HTTP status. */
async function shownBy({ origin }: Component): Promise<string> {
  const answer = await dashboard({ ...connection, dashboardUrl: origin }, 'GET', '/paymaster');
  const [first] = (answer.body.data ?? []) as { readonly apiKey: string }[];
  return first?.apiKey ?? String(answer.status);
}
const statusFor = async ({ origin }: Component, apiKey: string): Promise<number> =>
  (await dashboard({ ...connection, dashboardUrl: origin }, 'GET', '/smart-contract', { apiKey })).status;
const condition = async (): Promise<string | undefined> =>
  (await readerOf(cluster).condition('Chain', 'dev', 'MasterKeys'))?.split('/')[1];
const announced = async (): Promise<string | undefined> =>
  (await readerOf(cluster).configMap('paymaster-master-keys'))?.['apiKeys'];

test(
  'every process takes over a rotated master key, and no process works with other keys than the others',
  async () => {
    const { current: k0, webhook } = cluster.masterKeys;
    const k1 = randomBytes(32);
    const former = { 'master.key': k0, 'webhook-master.key': webhook };
    const rotated = { 'master.key': k1, 'master-previous.key': k0, 'webhook-master.key': webhook };
    expect(await announced()).toBe(deriveFingerprint(k0));
    expect(await shownBy(early)).toBe(apiKeyOf(k0));
    expect(await sponsors(apiKeyOf(k0))).toBe(true);

    // A pod with the newer Secret goes on with the current key.
    mount(early, rotated);
    mount(late, former);
    await until(
      'it accepts the next key',
      async () => (await statusFor(early, apiKeyOf(k1))) === 200,
      patienceMs,
    );
    expect(await shownBy(early)).toBe(apiKeyOf(k0));

    mount(operator, rotated);
    await until(
      'it is announced',
      async () => (await announced()) === `${deriveFingerprint(k1)} ${deriveFingerprint(k0)}`,
      patienceMs,
    );
    await until('it is shown', async () => (await shownBy(early)) === apiKeyOf(k1), patienceMs);
    // The pod with the older Secret refuses to answer about keys instead of answering with a wrong one.
    await until('the other one refuses', async () => (await shownBy(late)) === '503', patienceMs);
    mount(late, rotated);
    await until('it goes on', async () => (await shownBy(late)) === apiKeyOf(k1), patienceMs);
    for (const key of [apiKeyOf(k0), apiKeyOf(k1)]) {
      expect(await sponsors(key)).toBe(true);
      for (const each of [early, late]) expect(await statusFor(each, key)).toBe(200);
    }
    await until('the condition says so', async () => (await condition()) === 'InForce', patienceMs);

    // The old key is removed.
    const ended = { 'master.key': k1, 'webhook-master.key': webhook };
    for (const each of [operator, early, late]) mount(each, ended);
    await until('the old key has ended', async () => !(await sponsors(apiKeyOf(k0))), patienceMs);
    await until('also here', async () => (await statusFor(late, apiKeyOf(k0))) !== 200, patienceMs);
    expect(await sponsors(apiKeyOf(k1))).toBe(true);

    // A Secret that would end every key is refused.
    mount(operator, { 'master.key': randomBytes(32), 'webhook-master.key': webhook });
    await until('it is refused', async () => (await condition()) === 'Refused', patienceMs);
    const { out } = await paymaster([
      'doctor',
      '-o',
      'json',
      '--kubeconfig',
      cluster.plane.kubeconfig('admin'),
    ]);
    const { problems } = JSON.parse(out) as { readonly problems: readonly ProblemRecord[] };
    expect(problems).toContainEqual(expect.objectContaining({ check: 'master-keys-refused', name: 'dev' }));
    expect(await announced()).toBe(deriveFingerprint(k1));
    expect(await sponsors(apiKeyOf(k1))).toBe(true);
    expect(await shownBy(early)).toBe(apiKeyOf(k1));
  },
  4 * patienceMs,
);
