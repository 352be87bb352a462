import { expect, test } from '@jest/globals';
import { helm, operatorChart, reachAnywhere } from '../../charts/support/helm.js';
import { useStarted } from '../../support/use-started.js';
import { claimPlane } from './claimed-plane.js';

// A release of the chart with its own PostgreSQL, on a real API server.

const namespace = 'gas-system';
const name = 'gas-paymaster-postgres';
const plane = useStarted(() => claimPlane([namespace]));

const release = (...args: readonly string[]) =>
  helm([...args, `--kubeconfig=${plane.kubeconfig}`, `--namespace=${namespace}`]);
const values = ['--set=postgres.bundled.enabled=true', reachAnywhere];

async function password(): Promise<string> {
  const secret = await plane.transport.request({
    method: 'GET',
    path: `/api/v1/namespaces/${namespace}/secrets/${name}`,
  });
  const { data } = secret as { readonly data: { readonly password: string } };
  return Buffer.from(data.password, 'base64').toString();
}

test('the generated password survives an upgrade, and an uninstall, as the data do', async () => {
  expect(release('install', 'gas', operatorChart, ...values)).toMatchObject({ ok: true, stderr: '' });
  const first = await password();
  expect(first).toMatch(/^[A-Za-z0-9]{40}$/);
  expect(release('upgrade', 'gas', operatorChart, ...values, '--set=rpc.replicas=4')).toMatchObject({
    ok: true,
  });
  expect(await password()).toBe(first);
  expect(release('uninstall', 'gas')).toMatchObject({ ok: true });
  expect(release('install', 'gas', operatorChart, ...values)).toMatchObject({ ok: true, stderr: '' });
  expect(await password()).toBe(first);
  await plane.transport.request({
    method: 'GET',
    path: `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}`,
  });
  // Its cluster roles and policies concern nobody else on this API server.
  expect(release('uninstall', 'gas')).toMatchObject({ ok: true });
});
