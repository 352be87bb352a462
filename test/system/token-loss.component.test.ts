import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { DevChain } from '../chain/support/dev-chain.js';
import { dashboard, rpcUrlFor } from './support/client.js';
import { attachDevChain } from './support/dev-chain.js';
import {
  removeDataDirectory,
  startStandalone,
  stopStandalone,
  type RunningStandalone,
} from './support/standalone.js';
import { tokenPayers } from './support/token-payer.js';
import { until } from '../support/until.js';

// An account that moves its tokens away between the signature and the bundle: the operation is mined and pays nothing.

const version = 'singleton-0.7';

let running: RunningStandalone;
let devChain: DevChain;
let url: string;
beforeAll(async () => {
  running = await startStandalone();
  const connection = running.connection();
  devChain = attachDevChain(connection.chainRpcUrl, connection.chainId);
  const created = await dashboard(connection, 'POST', '/paymaster', {
    body: { name: 'loss', type: 'HYBRID', chainId: connection.chainId, version },
  });
  url = rpcUrlFor(connection, (created.body.data as { apiKey: string }).apiKey);
}, 240_000);
afterAll(async () => {
  await devChain?.stop();
  expect(await stopStandalone(running)).toBe(0);
  removeDataDirectory(running.dataDirectory);
});

test('an account whose operation was mined and paid no token is barred, others are not', async () => {
  const payers = tokenPayers(devChain, version, url);
  const honest = await payers.newAccount();
  const thief = await payers.newAccount();
  for (const account of [honest, thief]) expect((await payers.pay(account)).success).toBe(true);
  // Both have paid, so both may go on.
  await until('no reservation is left', async () => (await metric('paymaster_reservations')) === 0);
  for (const account of [honest, thief]) expect((await payers.ask(account)).error).toBeUndefined();

  await payers.cheat(thief);
  await until('the thief is barred', async () => {
    const { error } = await payers.ask(thief);
    return error?.data?.['reason'] === 'SENDER_BARRED';
  });
  expect((await payers.ask(honest)).error).toBeUndefined();
  expect(await metric('paymaster_token_unpaid_operations_total')).toBe(1);
});

async function metric(name: string): Promise<number> {
  const response = await fetch(`${running.connection().dashboardUrl}/metrics`);
  const match = new RegExp(`^${name}\\{[^}]*\\} ([0-9]+)$`, 'm').exec(await response.text());
  return Number(match?.[1] ?? -1);
}
