import { randomBytes } from 'node:crypto';
import { expect } from '@jest/globals';
import { Interface } from 'ethers';
import { parseAddress, toAddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import { someToken } from '../../build/configs.js';
import { buildAccount, encodeWith, type Call, type TestAccount } from '../../chain/support/account.js';
import type { DevChain } from '../../chain/support/dev-chain.js';
import { handleOps } from '../../chain/support/handle-ops.js';
import { sendAs } from '../../chain/support/send-as.js';
import { buildUserOp, signByAccount, type SignedUserOp } from '../../chain/support/user-op.js';
import { until } from '../../support/until.js';
import { rpc, toWire, unlessBusy, type RpcAnswer } from '../../system/support/client.js';

const counter = new Interface(['function increment()']);
/** `senderCreator()` */
const senderCreatorCall: Hex = '0x09ccb880';

/** The call that every test paymaster sponsors. */
export function increment({ deployments }: DevChain): Call {
  return { to: deployments.sponsoredContract.address, data: encodeWith(counter, 'increment', []) };
}

/** An account that exists already. */
export async function aDeployedAccount(devChain: DevChain, version: string): Promise<TestAccount> {
  const { entryPoint, entryPointVersion } = devChain.profile(version);
  const account = await buildAccount(devChain, entryPointVersion);
  const initCode = await account.initCode();
  // From 0.8 on the factory accepts calls only from the EntryPoint's helper.
  const from: Hex =
    entryPointVersion === '0.8' || entryPointVersion === '0.9'
      ? `0x${(await devChain.chain.call({ to: entryPoint, data: senderCreatorCall })).slice(26)}`
      : devChain.deployments.treasury;
  const to = devChain.deployments.factories[entryPointVersion];
  await sendAs(devChain, from, { to, data: `0x${initCode.slice(42)}` });
  // On a busy machine anvil shows a receipt before its newest state: an operation would deploy the account again.
  await until('the account is deployed', async () => (await devChain.chain.code(account.address)) !== '0x');
  return account;
}

export type Asked = {
  readonly answer: RpcAnswer;
  readonly reason: unknown;
  /** Ready for a bundle; undefined where nothing was signed. */
  readonly signed: SignedUserOp | undefined;
};

/** Requests paymaster data for an operation; `account` signs the operation where it is given. */
export async function ask(
  url: string,
  op: FinalUserOperation,
  mode: Readonly<Record<string, unknown>>,
  account?: TestAccount,
): Promise<Asked> {
  const answer = await unlessBusy(() => rpc(url, 'pm_sponsorUserOperation', [toWire(op), mode]));
  const data = answer.result?.['paymasterAndData'];
  const isSigned = typeof data === 'string' && data !== '0x';
  const signed =
    isSigned && account !== undefined ? await signByAccount(account, op, data as Hex) : undefined;
  return { answer, reason: answer.error?.data?.['reason'] ?? answer.result?.['reason'], signed };
}

/** The control: an honest account's operation is signed and mined. */
export async function expectServed(devChain: DevChain, version: string, url: string): Promise<void> {
  const account = await aDeployedAccount(devChain, version);
  const op = await buildUserOp(account, [increment(devChain)]);
  let asked: Asked | undefined;
  // A busy machine may have no answer of the chain in time. Every other refusal is one that an attacker could have caused.
  await until('the chain answers', async () => {
    asked = await ask(url, op, { mode: 'SPONSORED' }, account);
    return asked.reason !== 'CHAIN_UNAVAILABLE';
  });
  const signed = asked?.signed;
  if (signed === undefined) throw new Error(`nothing was signed: ${JSON.stringify(asked?.answer)}`);
  const { entryPointVersion } = devChain.profile(version);
  const { events } = await handleOps(devChain, entryPointVersion, [signed]);
  expect(events).toMatchObject([{ success: true }]);
}

/** Requests one operation for many senders that never send it, in parallel. Resolves with the reasons; undefined where signed. */
export async function askForNobody(
  url: () => string,
  template: FinalUserOperation,
  { count, mode }: { readonly count: number; readonly mode: Readonly<Record<string, unknown>> },
): Promise<readonly unknown[]> {
  const reasons: unknown[] = [];
  while (reasons.length < count) {
    const page = Array.from({ length: Math.min(50, count - reasons.length) }, () => {
      const sender = toAddressKey(parseAddress(`0x${randomBytes(20).toString('hex')}`));
      return ask(url(), { ...template, sender }, mode);
    });
    reasons.push(...(await Promise.all(page)).map(({ reason }) => reason));
  }
  return reasons;
}

/** The explanation of a paymaster, as its owner sees it. */
export async function explain(
  url: string,
  op: FinalUserOperation,
  mode: Readonly<Record<string, unknown>>,
  authToken = someToken,
): Promise<Readonly<Record<string, unknown>>> {
  const { result, error } = await unlessBusy(async () => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authToken, connection: 'close' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'pm_explainSponsorship',
        params: [toWire(op), mode],
      }),
    });
    return (await response.json()) as RpcAnswer;
  });
  if (result === undefined) throw new Error(`no explanation: ${JSON.stringify(error)}`);
  return result;
}

/** Ether that the first limit of an explanation shows as used. */
export function usedOf(explained: Readonly<Record<string, unknown>>): number {
  const [limit] = explained['limits'] as readonly { readonly used: string }[];
  return Number(limit?.used.split(' ')[0]);
}
