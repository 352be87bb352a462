import { randomBytes } from 'node:crypto';
import { Interface } from 'ethers';
import type { Hex } from '../../../core/units/hex.js';
import { buildAccount, encodeWith } from '../../chain/support/account.js';
import type { DevChain } from '../../chain/support/dev-chain.js';
import { handleOp, refusalOf } from '../../chain/support/handle-ops.js';
import { buildUserOp, signByAccount, type SignedUserOp } from '../../chain/support/user-op.js';
import { toWire } from '../../system/support/client.js';
import type { Caller } from '../wallet-pod.js';

/** The outcome of one operation that a customer requested. Times are of `performance.now()`. */
export type Asked = {
  readonly askedAt: number;
  readonly answeredAt: number;
  /** `signed`, or the error's code and reason. */
  readonly answer: string;
  /** Of a signed one: `mined`, or why the EntryPoint refuses it. */
  fate?: string;
};

/** People with a deployed account: they ask, sign, and have their operations mined some seconds later, as bundlers do. */
export type Customers = {
  readonly asked: readonly Asked[];
  /** Sends no further requests, and waits until all signed operations are mined. */
  stop(): Promise<void>;
};

export type CustomersOptions = {
  readonly devChain: DevChain;
  readonly caller: Caller;
  readonly url: string;
  /** Profile of the paymaster that they ask. */
  readonly version: string;
  /** An operation is mined so long after it was signed at most. */
  readonly holdMs: number;
};

const counter = new Interface(['function increment()']);
const everyMs = 300;

export async function startCustomers(options: CustomersOptions): Promise<Customers> {
  const { devChain, caller, url, holdMs } = options;
  const version = devChain.profile(options.version).entryPointVersion;
  const account = await buildAccount(devChain, version);
  const asked: Asked[] = [];
  const mining: Promise<void>[] = [];
  // Creates the account, so that later operations do not depend on each other.
  const [first, record] = await ask();
  if (first === undefined || record === undefined)
    throw new Error(`customers of ${options.version} are not sponsored: ${asked[0]?.answer}`);
  record.fate = await mine(first);

  let isStopping = false;
  const running = (async () => {
    while (!isStopping) {
      const startedAt = performance.now();
      const [operation, record] = await ask();
      if (operation !== undefined && record !== undefined) {
        const mined = mineLater(operation, record);
        mined.catch(() => {});
        mining.push(mined);
      }
      await sleep(Math.max(0, everyMs - (performance.now() - startedAt)));
    }
  })();
  // A failing step ends the chain that the customers use; their later errors are not the cause.
  running.catch(() => {});
  return {
    asked,
    async stop() {
      isStopping = true;
      await running;
      await Promise.all(mining);
    },
  };

  async function ask(): Promise<readonly [SignedUserOp | undefined, Asked?]> {
    const call = {
      to: devChain.deployments.sponsoredContract.address,
      data: encodeWith(counter, 'increment', []),
    };
    // A separate nonce key, so that operations are mined in any order.
    const nonce = BigInt(`0x${randomBytes(8).toString('hex')}`) << 64n;
    const op = await buildUserOp(account, [call], { nonce });
    const askedAt = performance.now();
    const answer = await caller.call(url, 'pm_sponsorUserOperation', [toWire(op), { mode: 'SPONSORED' }]);
    const record: Asked = { askedAt, answeredAt: performance.now(), answer: describe(answer) };
    asked.push(record);
    if (record.answer !== 'signed') return [undefined];
    const limit = (name: string): bigint => BigInt(String(answer.result?.[name]));
    const final = {
      ...op,
      callGasLimit: limit('callGasLimit'),
      verificationGasLimit: limit('verificationGasLimit'),
      preVerificationGas: limit('preVerificationGas'),
    };
    return [await signByAccount(account, final, answer.result?.['paymasterAndData'] as Hex), record];
  }

  async function mineLater(operation: SignedUserOp, record: Asked): Promise<void> {
    await sleep(Math.random() * holdMs);
    record.fate = await mine(operation);
  }

  async function mine(operation: SignedUserOp): Promise<string> {
    const refusal = await refusalOf(devChain, version, [operation]);
    if (refusal !== 'accepted') return refusal;
    try {
      const { event } = await handleOp(devChain, version, operation);
      return event.success ? 'mined' : 'mined, but its call failed';
    } catch (error) {
      // The contract may have changed since the EntryPoint was asked.
      const changed = await refusalOf(devChain, version, [operation]);
      if (changed === 'accepted') throw error;
      return changed;
    }
  }
}

function describe({ result, error, reason: refusal }: Awaited<ReturnType<Caller['call']>>): string {
  if (error !== undefined) {
    const reason = error.data?.['reason'];
    return `error ${error.code} ${typeof reason === 'string' ? reason : error.message}`;
  }
  return result?.['paymasterAndData'] === '0x' ? `refused ${refusal}` : 'signed';
}

/** How many of these had each fate, or each answer where nothing was signed. */
export function tally(asked: readonly Asked[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { answer, fate } of asked) {
    const key = answer === 'signed' ? (fate ?? 'not mined yet') : answer;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
