import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { freshUserOp, rpc } from './support/client.js';
import {
  newDataDirectory,
  removeDataDirectory,
  startStandalone,
  type RunningStandalone,
} from './support/standalone.js';
import { paymaster } from '../support/paymaster.js';
import { until } from '../support/until.js';
import { noteCluster } from '../../standalone/status/read-status.js';

// `make status` on a running instance.

let running: RunningStandalone;
beforeAll(async () => {
  running = await startStandalone();
});
afterAll(async () => {
  running?.signal('SIGKILL');
  await running?.ended;
  if (running !== undefined) removeDataDirectory(running.dataDirectory);
});

test('it shows resources, rules with what is left, deposits, and the last refusals with their detail', async () => {
  const connection = running.connection();
  const sponsored = freshUserOp(connection);
  const refused = { ...sponsored, callData: String(sponsored['callData']).replace('d09de08a', 'ffffffff') };
  for (const op of [sponsored, refused])
    await rpc(connection.rpcUrl, 'pm_sponsorUserOperation', [
      op,
      { mode: 'SPONSORED', calculateGasLimits: false },
    ]);
  await until('deposits were read', async () => (await shown()).includes('ETH'));
  const text = await shown();
  expect(text).toContain('Resources: 8 of 8 ready');
  expect(text).toContain('  ✓ Paymaster quickstart/shop  Ready');
  expect(text).toMatch(
    /operations per day +0 operations used and 1 operation promised of 100000 operations +99999 operations left, until 20\d\d-/,
  );
  expect(text).toMatch(/gas per user and day +at most 1 ether for each account +until 20\d\d-/);
  expect(text).toMatch(/chain 31337 +0x[0-9a-f]{40} in 0x[0-9a-f]{40} +\d+ ETH +promised 0\.\d+ ETH/);
  expect(text).toMatch(
    /quickstart\/shop {2}METHOD_NOT_WHITELISTED {2}call 0 to 0x\S+ with selector 0xffffffff/,
  );
  // Refusals are stored a moment later.
  await until('the ledger has both', async () => /1 sponsored +1 refused/.test(await shown()));
  const later = await shown();
  expect(later).toMatch(/quickstart +1 sponsored +1 refused +0 mined +0 spent/);
  expect(later).toMatch(/quickstart\/shop +0x[0-9a-f]{40} +refused +METHOD_NOT_WHITELISTED/);
  expect(text).not.toContain(connection.apiKey);
});

test('it names the installation of make run-kube when one runs, alone or beside', async () => {
  const cluster = { kubeconfig: '/tmp/some/kubeconfig', kubectl: '/tmp/some/kubectl' };
  const command =
    /"make run-kube"\. Look at it with: KUBECONFIG='\/tmp\/some\/kubeconfig' '\/tmp\/some\/kubectl' get chains,.* -A$/m;
  const forget = noteCluster(running.dataDirectory, cluster);
  expect((await paymaster(['status', '--data-dir', running.dataDirectory])).error).toMatch(command);
  forget();
  expect((await paymaster(['status', '--data-dir', running.dataDirectory])).error).toBe('');

  const alone = newDataDirectory();
  try {
    const forgetAlone = noteCluster(alone, cluster);
    expect((await paymaster(['status', '--data-dir', alone])).error).toMatch(command);
    forgetAlone();
    // Its process was killed, so that it could not remove the note.
    const { pid } = spawnSync('true');
    writeFileSync(join(alone, 'cluster.json'), JSON.stringify({ ...cluster, pid }));
    expect((await paymaster(['status', '--data-dir', alone])).error).toContain(
      'start an instance with "make run"',
    );
  } finally {
    removeDataDirectory(alone);
  }
});

const shown = async (): Promise<string> =>
  (await paymaster(['status', '--data-dir', running.dataDirectory])).out;

test('-o json has the same for programs', async () => {
  const env = { PAYMASTER_DATA_DIR: running.dataDirectory };
  const { resources, rules } = JSON.parse((await paymaster(['status', '-o', 'json'], env)).out);
  expect(resources).toHaveLength(8);
  expect(rules).toContainEqual(
    expect.objectContaining({
      paymaster: 'quickstart/shop',
      policyType: 'CONTRACTS',
      enforcement: 'Enforce',
    }),
  );
});

test.each(['', 'Bearer ', 'Bearer wrong', 'Basic x'])('nobody reads it with %j', async (authorization) => {
  const { dashboardUrl } = running.connection();
  const response = await fetch(`${dashboardUrl}/status`, { headers: { authorization } });
  expect(response.status).toBe(401);
  expect(await response.text()).not.toContain('resources');
});

test('the token of the dashboard does not open it', async () => {
  const { dashboardUrl, authToken } = running.connection();
  const headers = { authorization: `Bearer ${authToken}`, authToken };
  expect((await fetch(`${dashboardUrl}/status`, { headers })).status).toBe(401);
});

test('without a running instance it says what to do', async () => {
  const directory = newDataDirectory();
  try {
    const { error, status } = await paymaster(['status', '--data-dir', directory]);
    expect(status).toBe(3);
    expect(error).toContain('start an instance with "make run"');
  } finally {
    rmSync(directory, { recursive: true });
  }
});
