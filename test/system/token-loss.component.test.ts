import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import type { Hex } from '../../core/units/hex.js';
import { buildAccount, encodeWith } from '../chain/support/account.js';
import { balanceOf } from '../chain/support/balances.js';
import type { DevChain } from '../chain/support/dev-chain.js';
import { handleOp } from '../chain/support/handle-ops.js';
import { approval, mint } from '../chain/support/tokens.js';
import { buildUserOp, signByAccount } from '../chain/support/user-op.js';
import { dashboard, rpc, rpcUrlFor, toWire, type RpcAnswer } from './support/client.js';
import { attachDevChain } from './support/dev-chain.js';
import {
  removeDataDirectory,
  startStandalone,
  stopStandalone,
  type RunningStandalone,
} from './support/standalone.js';
import { until } from '../support/until.js';

// An account that moves its tokens away between the signature and the bundle: the operation is mined and pays nothing.

const token = new Interface(['function transfer(address to, uint256 amount)']);
const counter = new Interface(['function increment()']);
const plenty = 10n ** 10n;
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
}, 60_000);
afterAll(async () => {
  await devChain.stop();
  expect(await stopStandalone(running)).toBe(0);
  removeDataDirectory(running.dataDirectory);
});

test('an account whose operation was mined and paid no token is barred, others are not', async () => {
  const { deployments } = devChain;
  const feeToken = deployments.feeToken.address;
  const profile = devChain.profile(version);
  const increment = { to: deployments.sponsoredContract.address, data: encodeWith(counter, 'increment', []) };

  const honest = await buildAccount(devChain, profile.entryPointVersion);
  const thief = await buildAccount(devChain, profile.entryPointVersion);
  for (const account of [honest, thief]) {
    await mint(devChain, feeToken, account.address, plenty);
    const { event } = await pay(account);
    expect(event.success).toBe(true);
  }
  // Both have paid, so both may go on.
  await until('both payments are settled', async () => (await liveReservations()) === 0);
  for (const account of [honest, thief]) expect((await ask(account)).error).toBeUndefined();

  await pay(thief, async () => {
    const held = await balanceOf(devChain, feeToken, thief.address);
    const data = encodeWith(token, 'transfer', [deployments.treasury, held]);
    await sendAs(thief.address, feeToken, data);
  });
  await mint(devChain, feeToken, thief.address, plenty);
  await until(
    'the thief is barred',
    async () => (await ask(thief)).error?.data?.['reason'] === 'SENDER_BARRED',
  );
  expect((await ask(honest)).error).toBeUndefined();
  expect(await metric('paymaster_token_unpaid_operations_total')).toBe(1);

  type Account = typeof honest;

  async function draftOf(account: Account) {
    return buildUserOp(account, [approval(feeToken, profile, plenty), increment]);
  }

  async function ask(account: Account): Promise<RpcAnswer> {
    const tokenInfo = { feeTokenAddress: feeToken };
    return rpc(url, 'pm_sponsorUserOperation', [
      toWire(await draftOf(account)),
      { mode: 'ERC20', tokenInfo },
    ]);
  }

  async function pay(account: Account, meanwhile: () => Promise<void> = () => Promise.resolve()) {
    const draft = await draftOf(account);
    const tokenInfo = { feeTokenAddress: feeToken };
    const answer = await rpc(url, 'pm_sponsorUserOperation', [toWire(draft), { mode: 'ERC20', tokenInfo }]);
    expect(answer.error).toBeUndefined();
    const signed = await signByAccount(account, draft, answer.result?.['paymasterAndData'] as Hex);
    await meanwhile();
    return handleOp(devChain, profile.entryPointVersion, signed);
  }
});

async function sendAs(from: Hex, to: Hex, data: Hex): Promise<void> {
  await devChain.setBalance(from, 10n ** 18n);
  await devChain.chain.request('anvil_impersonateAccount', [from]);
  await devChain.chain.request('eth_sendTransaction', [{ from, to, data }]);
  await devChain.chain.request('anvil_stopImpersonatingAccount', [from]);
}

async function liveReservations(): Promise<number> {
  return metric('paymaster_reservations');
}

async function metric(name: string): Promise<number> {
  const response = await fetch(`${running.connection().dashboardUrl}/metrics`);
  const match = new RegExp(`^${name}\\{[^}]*\\} ([0-9]+)$`, 'm').exec(await response.text());
  return Number(match?.[1] ?? -1);
}
