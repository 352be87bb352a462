import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import type { Hex } from '../../core/units/hex.js';
import { buildAccount, encodeWith } from '../chain/support/account.js';
import type { DevChain } from '../chain/support/dev-chain.js';
import { handleOp } from '../chain/support/handle-ops.js';
import { buildUserOp, signByAccount, type SignedUserOp } from '../chain/support/user-op.js';
import { isSoak } from '../support/soak-seconds.js';
import { until } from '../support/until.js';
import { freshUserOp, rpc, rpcUrlFor, toWire } from './support/client.js';
import { attachDevChain } from './support/dev-chain.js';
import { readLedger } from './support/ledger.js';
import {
  removeDataDirectory,
  startStandalone,
  stopStandalone,
  type RunningStandalone,
} from './support/standalone.js';

// DELETE /manage/v1/paymasters/{name} while wallets ask: nothing is signed after the answer, what was signed before is still mined,
// settled and counted, and the name that is made again goes on counting.

const version = '1.1.0';
const inFlight = 12;
/** Sponsorships before the deletion. */
const loadBefore = isSoak ? 10 * inFlight : 2 * inFlight;
const counter = new Interface(['function increment()']);

let running: RunningStandalone;
let devChain: DevChain;
beforeAll(async () => {
  running = await startStandalone();
  const { chainRpcUrl, chainId } = running.connection();
  devChain = attachDevChain(chainRpcUrl, chainId);
});
afterAll(async () => {
  await devChain.stop();
  running.signal('SIGKILL');
  await running.ended;
  removeDataDirectory(running.dataDirectory);
});

test('nothing is signed after the answer, live promises are settled and counted, and the name goes on counting', async () => {
  const url = rpcUrlFor(running.connection(), await make(100_000));
  const live = [await signed(url), await signed(url)];

  let promised = live.length;
  let isAnswered = false;
  let late = 0;
  const reasons = new Set<unknown>();
  const worker = async (): Promise<void> => {
    // Each goes on until it has met the refusal.
    for (;;) {
      const isLate = isAnswered;
      const userOp = freshUserOp(running.connection());
      const { status, result, error } = await rpc(url, 'pm_sponsorUserOperation', [
        userOp,
        { mode: 'SPONSORED' },
      ]);
      const isSigned = result?.['paymasterAndData'] !== undefined && result['paymasterAndData'] !== '0x';
      if (isSigned) promised += 1;
      if (isSigned && isLate) late += 1;
      if (!isSigned)
        reasons.add(status === 401 ? 401 : (error?.data?.['reason'] ?? result?.['reason'] ?? status));
      if (isLate && !isSigned) return;
    }
  };
  const workers = Array.from({ length: inFlight }, worker);
  await until('there is load', () => promised > loadBefore);
  const deleted = await manage('DELETE', '/paymasters/doomed?cascade=true');
  const answeredAt = Date.now();
  isAnswered = true;
  expect(deleted).toMatchObject({ status: 200, programmed: 'true', data: { name: 'doomed', dryRun: false } });
  await Promise.all(workers);
  expect(late).toBe(0);
  // The key is unknown; a request that came earlier may also hear that its configuration is behind.
  expect([...reasons].filter((reason) => reason !== 401 && reason !== 'CONFIG_BEHIND')).toEqual([]);

  // What was signed before is a promise to pay.
  for (const op of live) expect((await mine(op)).success).toBe(true);
  await until('both are settled', async () => (await settlements(live)) === live.length);

  for (const path of ['/contracts/doomed-counter', '/policies/doomed-operations'])
    expect(await manage('GET', path)).toMatchObject({ status: 404 });
  // Made again, it is the same name: the same key, and all that was promised counts.
  expect(rpcUrlFor(running.connection(), await make(promised))).toBe(url);
  expect(await limit()).toEqual({ used: live.length, reserved: promised - live.length });
  const userOp = freshUserOp(running.connection());
  const full = await rpc(url, 'pm_sponsorUserOperation', [userOp, { mode: 'SPONSORED' }]);
  expect(full.result).toMatchObject({ paymasterAndData: '0x', reason: 'LIMIT_REACHED' });

  expect(await stopStandalone(running)).toBe(0);
  const sponsored = (await readLedger(running.dataDirectory))
    .map(({ decision }) => decision)
    .filter(({ verdict }) => verdict === 'sponsored');
  expect(sponsored).toHaveLength(promised);
  // Also of requests that were in flight.
  expect(sponsored.filter(({ at }) => at > answeredAt)).toEqual([]);
});

async function manage(method: string, path: string, body?: unknown) {
  const { dashboardUrl, authToken } = running.connection();
  const response = await fetch(`${dashboardUrl}/manage/v1${path}`, {
    method,
    headers: { authToken, connection: 'close' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const { data } = (await response.json()) as { readonly data: Readonly<Record<string, unknown>> };
  return { status: response.status, programmed: response.headers.get('x-programmed'), data };
}

/** The paymaster with a limit of so many operations, and its key. */
async function make(threshold: number): Promise<string> {
  const { chainId, sponsoredContract } = running.connection();
  const paymasterRef = { name: 'doomed' };
  const objects = {
    '/paymasters/doomed': { name: 'doomed', chainId, type: 'HYBRID', version },
    '/contracts/doomed-counter': {
      paymasterRef,
      name: 'counter',
      address: sponsoredContract.address,
      abi: '[{"type":"function","name":"increment","stateMutability":"nonpayable","inputs":[],"outputs":[]}]',
      whitelistedMethods: ['increment'],
    },
    '/policies/doomed-operations': {
      paymasterRef,
      name: 'operations',
      policyType: 'PAYMASTER_SA_LIMIT',
      spendingLimit: {
        scope: 'PAYMASTER',
        never: {},
        threshold: String(threshold),
        thresholdType: 'COUNT',
      },
    },
  };
  for (const [path, spec] of Object.entries(objects)) {
    const { status } = await manage('PUT', path, { spec });
    expect([200, 201]).toContain(status);
  }
  await until('everything is served', async () => {
    const shown = await Promise.all(Object.keys(objects).map((path) => manage('GET', path)));
    return shown.every(({ data }) => isReady(data));
  });
  return String((await manage('GET', '/paymasters/doomed/key')).data['key']);
}

function isReady({ generation, status }: Readonly<Record<string, unknown>>): boolean {
  const { conditions = [] } = status as { readonly conditions?: readonly Condition[] };
  return conditions.some(
    ({ type, status: is, observedGeneration }) =>
      type === 'Programmed' && is === 'True' && observedGeneration === generation,
  );
}
type Condition = { readonly type: string; readonly status: string; readonly observedGeneration: number };

async function limit() {
  const { data } = await manage('GET', '/limits');
  const limits = data['items'] as readonly Readonly<Record<string, unknown>>[];
  const found = limits.find(({ name, paymaster }) => name === 'operations' && paymaster === 'doomed');
  return { used: found?.['used'], reserved: found?.['reserved'] };
}

/** How many of the operations are settled, as the API shows it. */
async function settlements(ops: readonly SignedUserOp[]): Promise<number> {
  const pages = await Promise.all(ops.map(({ op }) => manage('GET', `/decisions?sender=${op.sender}`)));
  const decisions = pages.flatMap(({ data }) => data['items'] as readonly { readonly settlement: unknown }[]);
  return decisions.filter(({ settlement }) => settlement !== null).length;
}

/** An operation of a new account, sponsored and signed. */
async function signed(url: string): Promise<SignedUserOp> {
  const account = await buildAccount(devChain, devChain.profile(version).entryPointVersion);
  const to = devChain.deployments.sponsoredContract.address;
  const op = await buildUserOp(account, [{ to, data: encodeWith(counter, 'increment', []) }]);
  const answer = await rpc(url, 'pm_sponsorUserOperation', [
    toWire(op),
    { mode: 'SPONSORED', calculateGasLimits: false },
  ]);
  const data = answer.result?.['paymasterAndData'] as Hex;
  if (data === undefined || data === '0x') throw new Error(`not sponsored: ${JSON.stringify(answer)}`);
  return signByAccount(account, op, data);
}

async function mine(op: SignedUserOp) {
  return (await handleOp(devChain, devChain.profile(version).entryPointVersion, op)).event;
}
