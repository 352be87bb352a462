import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Connection } from '../../standalone/connection.js';
import type { DevChain } from '../chain/support/dev-chain.js';
import { dashboard, rpcUrlFor } from './support/client.js';
import { attachDevChain } from './support/dev-chain.js';
import { createOrganisation } from './support/shared-standalone.js';
import { tokenPayers } from './support/token-payer.js';
import { until } from '../support/until.js';

// An account that moves its tokens away between the signature and the bundle: the operation is mined and pays nothing.

const version = 'singleton-0.7';

let connection: Required<Connection>;
let devChain: DevChain;
let url: string;
beforeAll(async () => {
  connection = await createOrganisation('token-loss');
  devChain = attachDevChain(connection.chainRpcUrl, connection.chainId);
  const created = await dashboard(connection, 'POST', '/paymaster', {
    body: { name: 'loss', type: 'HYBRID', chainId: connection.chainId, version },
  });
  url = rpcUrlFor(connection, (created.body.data as { apiKey: string }).apiKey);
});
afterAll(() => devChain?.stop());

test('an account whose operation was mined and paid no token is barred, others are not', async () => {
  const payers = tokenPayers(devChain, version, url);
  const honest = await payers.newAccount();
  const thief = await payers.newAccount();
  for (const account of [honest, thief]) expect((await payers.pay(account)).success).toBe(true);
  // Both have paid, so both may go on.
  for (const account of [honest, thief])
    await until('it may go on', async () => (await payers.ask(account)).error === undefined);
  const unpaid = await unpaidOperations();

  await payers.cheat(thief);
  await until('the thief is barred', async () => {
    const { error } = await payers.ask(thief);
    return error?.data?.['reason'] === 'SENDER_BARRED';
  });
  expect((await payers.ask(honest)).error).toBeUndefined();
  expect(await unpaidOperations()).toBe(unpaid + 1);
});

/** Of all that the instance has seen. */
async function unpaidOperations(): Promise<number> {
  const response = await fetch(`${connection.dashboardUrl}/metrics`);
  const match = /^paymaster_token_unpaid_operations_total\{[^}]*\} ([0-9]+)$/m.exec(await response.text());
  return Number(match?.[1]);
}
