import { Interface } from 'ethers';
import { CallReverted, type Log } from '../../../core/chain/chain.js';
import { userOperation06, userOperation06Values } from '../../../core/entry-point/unpacked.js';
import { userOperation07, userOperation07Values } from '../../../core/entry-point/packed.js';
import {
  decodeUserOperationEvent,
  type UserOperationEvent,
} from '../../../core/entry-point/user-operation-event.js';
import type { Address } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { EntryPointVersion } from '../../../core/entry-point/version.js';
import { devAccounts } from '../../../standalone/dev-chain/dev-accounts.js';
import { encodeWith } from './account.js';
import type { DevChain } from './dev-chain.js';
import type { SignedUserOp } from './user-op.js';

export type Mined = {
  readonly events: readonly UserOperationEvent[];
  readonly logs: readonly Log[];
  /** Gas of the whole bundle transaction. */
  readonly gasUsed: bigint;
};

const abis: Readonly<Record<EntryPointVersion, Interface>> = {
  '0.6': new Interface([`function handleOps(${userOperation06}[] ops, address beneficiary)`]),
  '0.7': new Interface([`function handleOps(${userOperation07}[] ops, address beneficiary)`]),
  '0.8': new Interface([`function handleOps(${userOperation07}[] ops, address beneficiary)`]),
  '0.9': new Interface([`function handleOps(${userOperation07}[] ops, address beneficiary)`]),
};
const failures = new Interface([
  'error FailedOp(uint256 opIndex, string reason)',
  'error FailedOpWithRevert(uint256 opIndex, string reason, bytes inner)',
]);
// An account that exists: creating one costs 25,000 gas, which is nobody's.
const beneficiary = devAccounts.treasury.address;

/** Mines the operations in one bundle through the real EntryPoint; throws when the bundle reverts. */
export async function handleOps(
  devChain: DevChain,
  version: EntryPointVersion,
  ops: readonly SignedUserOp[],
): Promise<Mined> {
  const { chain, deployments } = devChain;
  const hash = await devChain.transactor.send('bundle', {
    to: deployments.entryPoints[version],
    data: encodeHandleOps(version, ops),
  });
  const receipt = await chain.request('eth_getTransactionReceipt', [hash]);
  const { blockNumber, gasUsed } = receipt as { readonly blockNumber: Hex; readonly gasUsed: Hex };
  const block = Number(blockNumber);
  const inBlock = await chain.logs({ fromBlock: block, toBlock: block });
  const logs = inBlock.filter(({ transactionHash }) => transactionHash === hash);
  const events = logs.flatMap((log) => decodeUserOperationEvent(log) ?? []);
  return { events, logs, gasUsed: BigInt(gasUsed) };
}

/** The single operation's event; throws unless exactly one was mined. */
export async function handleOp(devChain: DevChain, version: EntryPointVersion, signed: SignedUserOp) {
  const mined = await handleOps(devChain, version, [signed]);
  const [event] = mined.events;
  if (event === undefined || mined.events.length !== 1)
    throw new Error(`expected one operation, got ${mined.events.length}`);
  return { ...mined, event };
}

/** Why the EntryPoint refuses the bundle now, e.g. "AA34 signature error"; `accepted` when it does not. By eth_call. */
export async function refusalOf(
  devChain: DevChain,
  version: EntryPointVersion,
  ops: readonly SignedUserOp[],
): Promise<string> {
  try {
    await devChain.chain.call({
      from: devAccounts.deployer.address,
      to: devChain.deployments.entryPoints[version],
      data: encodeHandleOps(version, ops),
    });
    return 'accepted';
  } catch (error) {
    if (!(error instanceof CallReverted)) throw error;
    return formatFailure(error.data);
  }
}

/** "AA24 signature error" and the like. */
export function formatFailure(data: Hex): string {
  const failure = data === '0x' ? null : failures.parseError(data);
  if (failure === null) return `reverted with ${data}`;
  if (!failure.name.startsWith('FailedOp')) return `${failure.name}: ${String(failure.args[0])}`;
  const { reason, inner } = failure.args.toObject();
  return `${String(reason)}${typeof inner === 'string' ? ` ${inner.slice(0, 10)}` : ''}`;
}

/** Call data of `handleOps`, for bundles that are sent in another way. */
export function encodeHandleOps(
  version: EntryPointVersion,
  ops: readonly SignedUserOp[],
  receiver: Address = beneficiary,
): Hex {
  const values = version === '0.6' ? userOperation06Values : userOperation07Values;
  const tuples = ops.map(({ op, paymasterAndData }) => values(op, paymasterAndData));
  return encodeWith(abis[version], 'handleOps', [tuples, receiver]);
}
