import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import type { UserOperationEvent } from '../../core/entry-point/user-operation-event.js';
import type { DecisionView } from '../../core/ledger/query.js';
import type { Hex } from '../../core/units/hex.js';
import { buildAccount, encodeWith, type Call, type TestAccount } from '../chain/support/account.js';
import type { DevChain } from '../chain/support/dev-chain.js';
import { handleOp } from '../chain/support/handle-ops.js';
import { buildUserOp, signByAccount, type SignedUserOp } from '../chain/support/user-op.js';
import { until } from '../support/until.js';
import { dashboard, rpc, rpcUrlFor, toWire, type RpcAnswer } from './support/client.js';
import { attachDevChain } from './support/dev-chain.js';
import { readLedger } from './support/ledger.js';
import {
  removeDataDirectory,
  startStandalone,
  stopStandalone,
  type RunningStandalone,
} from './support/standalone.js';
import { revertTo } from '../chain/support/revert-to.js';

// The ledger of the command says what the chain says: every way in which an operation can end, to the wei.

const version = '1.1.0';
const counter = new Interface(['function increment()', 'function burn(uint256 rounds)']);

let running: RunningStandalone;
let devChain: DevChain;
let url: string;
beforeAll(async () => {
  running = await startStandalone({ hasMovableClock: true });
  const { chainRpcUrl, chainId } = running.connection();
  devChain = attachDevChain(chainRpcUrl, chainId);
  url = rpcUrlFor(running.connection(), await createPaymaster());
});
afterAll(async () => {
  await devChain.stop();
  running.signal('SIGKILL');
  await running.ended;
  removeDataDirectory(running.dataDirectory);
});

test('every verdict has its record, and every mined operation its exact cost, also after a reorganisation', async () => {
  const account = await newAccount();
  const mined = await mine(await signed(account, [increment()]));
  expect(mined.success).toBe(true);

  // Enough to begin the call, and too little to end it.
  const failed = await mine(await signed(account, [increment()], { callGasLimit: 9_000n }));
  expect(failed.success).toBe(false);

  // Two promises for one nonce: only one of them can be mined.
  const replaced = await newAccount();
  await signed(replaced, [increment()]);
  const chosen = await mine(await signed(replaced, [increment(), increment()]));

  const refused = await newAccount();
  const draft = await buildUserOp(refused, [burn()]);
  const first = await askBoth(toWire(draft), 'one id for all');
  expect(first.map(({ reason }) => reason)).toEqual(['METHOD_NOT_WHITELISTED', 'METHOD_NOT_WHITELISTED']);

  const late = await newAccount();
  await signed(late, [increment()], {}, { expiryDuration: 5 });
  await devChain.chain.request('evm_increaseTime', [30]);
  // Otherwise usage has an operation when the clock has come to the time of its block.
  running.advance(30_000);
  await devChain.chain.request('anvil_mine', ['0x1']);
  await stored('settlement', 4);

  const moved = await newAccount();
  const op = await signed(moved, [increment()]);
  const snapshot = await devChain.chain.request('evm_snapshot', []);
  const before = await mine(op);
  await stored('settlement', 5);
  await revertTo(devChain.chain, snapshot);
  await devChain.chain.request('anvil_mine', ['0x4']);
  await stored('reversal', 1);
  const again = await mine(op);
  await stored('settlement', 6);
  expect(again.userOpHash).toBe(before.userOpHash);

  const sums = [chosen, again, mined, failed].reduce((sum, { actualGasCost }) => sum + actualGasCost, 0n);
  await until('usage has every operation', async () => (await spentInAll())['spentWei'] === String(sums));
  // Prices are recorded once a minute, so the first one may come after the first operations.
  await until('usage has a price', async () => (await spentInAll())['unpricedWei'] === '0');
  // The price of the quickstart is 3,000 dollars: rounded up to a millionth.
  expect(await spentInAll()).toMatchObject({ spentUsd: dollars(sums * 3_000n) });

  expect(await stopStandalone(running)).toBe(0);
  const views = await readLedger(running.dataDirectory);
  expect(endsOf(views, account)).toEqual([endOf(mined), endOf(failed)]);
  expect(endsOf(views, replaced)).toEqual(['spent-elsewhere', endOf(chosen)]);
  expect(endsOf(views, late)).toEqual(['expired']);
  expect(endsOf(views, moved)).toEqual([endOf(again)]);
  expect(of(views, moved)[0]?.settlement?.takenBack).toBe(1);
  const spent = views.reduce((sum, { settlement }) => sum + (settlement?.mined?.actualGasCostWei ?? 0n), 0n);
  expect(spent).toBe([mined, failed, chosen, again].reduce((sum, each) => sum + each.actualGasCost, 0n));

  const refusals = of(views, refused).map(({ decision }) => decision);
  expect(refusals).toEqual(
    [1, 2].map(() =>
      expect.objectContaining({
        verdict: 'refused',
        reason: 'METHOD_NOT_WHITELISTED',
        callerRequestId: 'oneidforall',
        calls: [expect.objectContaining({ contractId: expect.any(String) })],
      }),
    ),
  );
  expect(new Set(refusals.map(({ id }) => id)).size).toBe(2);
  expect(views.filter(({ decision }) => decision.verdict === 'sponsored')).toHaveLength(6);
});

/** The decisions about an account, the oldest first. */
function of(views: readonly DecisionView[], { address }: TestAccount): readonly DecisionView[] {
  return views.filter(({ decision: { sender } }) => sender === address.toLowerCase()).toReversed();
}

function endsOf(views: readonly DecisionView[], account: TestAccount) {
  return of(views, account).map(({ decision, settlement }) => {
    if (settlement?.mined === undefined) return settlement?.outcome;
    const { userOpHash, success, actualGasCostWei, actualGasUsed } = settlement.mined;
    expect(actualGasCostWei).toBeLessThanOrEqual(decision.maxCostWei!);
    return { userOpHash, success, actualGasCostWei, actualGasUsed };
  });
}

function endOf({ userOpHash, success, actualGasCost, actualGasUsed }: UserOperationEvent) {
  return { userOpHash, success, actualGasCostWei: actualGasCost, actualGasUsed };
}

/** What the server says was spent, which the thread of its ledger reads. */
async function spentInAll(): Promise<Record<string, unknown>> {
  const { dashboardUrl, authToken } = running.connection();
  const answer = await fetch(`${dashboardUrl}/manage/v1/usage?groupBy=chain`, {
    headers: { authorization: `Bearer ${authToken}` },
    signal: AbortSignal.timeout(60_000),
  });
  expect(answer.status).toBe(200);
  const { data } = (await answer.json()) as {
    readonly data: { readonly items: readonly Record<string, unknown>[] };
  };
  return data.items[0] ?? {};
}

/** Of wei of dollars, up to a millionth, without zeros at the end. */
function dollars(wei: bigint): string {
  const micro = (wei + 10n ** 12n - 1n) / 10n ** 12n;
  return (Number(micro) / 1e6).toString();
}

/** Resolves when the ledger has this many records of a kind. */
async function stored(kind: string, count: number): Promise<void> {
  await until(`${count} records of kind ${kind}`, () => {
    const db = new DatabaseSync(join(running.dataDirectory, 'usage.sqlite'), { readOnly: true });
    try {
      const row = db.prepare('SELECT count(*) AS records FROM ledger_settlement WHERE kind = ?').get(kind);
      return Number(row?.['records']) >= count;
    } finally {
      db.close();
    }
  });
}

function newAccount(): Promise<TestAccount> {
  return buildAccount(devChain, devChain.profile(version).entryPointVersion);
}

/** The account's next operation with the limits given, sponsored and signed. */
async function signed(
  account: TestAccount,
  calls: readonly Call[],
  limits: { readonly callGasLimit?: bigint } = {},
  mode: { readonly expiryDuration?: number } = {},
): Promise<SignedUserOp> {
  const op = await buildUserOp(account, calls, limits);
  const answer = await rpc(url, 'pm_sponsorUserOperation', [
    toWire(op),
    { mode: 'SPONSORED', calculateGasLimits: false, ...mode },
  ]);
  const data = answer.result?.['paymasterAndData'] as Hex;
  if (data === undefined || data === '0x') throw new Error(`not sponsored: ${JSON.stringify(answer)}`);
  return signByAccount(account, op, data);
}

async function mine(op: SignedUserOp): Promise<UserOperationEvent> {
  return (await handleOp(devChain, devChain.profile(version).entryPointVersion, op)).event;
}

/** One batch of the same call twice, with the caller's own id. */
async function askBoth(userOp: Record<string, string>, requestId: string): Promise<readonly RpcResult[]> {
  const call = {
    jsonrpc: '2.0',
    id: 1,
    method: 'pm_sponsorUserOperation',
    params: [userOp, { mode: 'SPONSORED' }],
  };
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-request-id': requestId, connection: 'close' },
    body: JSON.stringify([call, call]),
  });
  const answers = (await response.json()) as readonly Pick<RpcAnswer, 'result'>[];
  return answers.map(({ result }) => ({ reason: result?.['reason'] }));
}
type RpcResult = { readonly reason: unknown };

async function createPaymaster(): Promise<string> {
  const connection = running.connection();
  const created = await dashboard(connection, 'POST', '/paymaster', {
    body: { name: 'recorded', type: 'HYBRID', chainId: connection.chainId, version },
  });
  const { apiKey } = created.body.data as { apiKey: string };
  const registered = await dashboard(connection, 'POST', '/smart-contract', {
    apiKey,
    body: {
      name: 'counter',
      address: connection.sponsoredContract.address,
      abi: devChain.deployments.sponsoredContract.abi,
      whitelistedMethods: ['increment'],
    },
  });
  expect(registered).toMatchObject({ status: 200, programmed: 'true' });
  return apiKey;
}

function increment(): Call {
  return { to: devChain.deployments.sponsoredContract.address, data: encodeWith(counter, 'increment', []) };
}

function burn(): Call {
  return { to: devChain.deployments.sponsoredContract.address, data: encodeWith(counter, 'burn', [1]) };
}
