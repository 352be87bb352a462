import { randomUUID } from 'node:crypto';
import { Interface } from 'ethers';
import { pause } from '../../../adapters/timers.js';
import { userOpHash } from '../../../core/entry-point/user-op-hash.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import type { Hex } from '../../../core/units/hex.js';
import { buildAccount, encodeWith, type Call, type TestAccount } from '../../chain/support/account.js';
import type { DevChain } from '../../chain/support/dev-chain.js';
import { handleOp } from '../../chain/support/handle-ops.js';
import { approval, mint } from '../../chain/support/tokens.js';
import { buildUserOp, signByAccount, type SignedUserOp } from '../../chain/support/user-op.js';
import type { Connection } from '../../../standalone/connection.js';
import { dashboard, rpc, toWire } from '../../system/support/client.js';

/** A paymaster as a client knows it. */
export type Customer = { readonly paymasterId: string; readonly path: string };

/** Data that a client was given: its request's own id, and the operation that they make. */
export type Answered = { readonly requestId: string; readonly customer: Customer; readonly userOpHash: Hex };

/** Wallets that ask replicas in turn, for operations that end in every possible way. */
export type LedgerTraffic = {
  readonly answered: readonly Answered[];
  /** Ids of all requests, also of those that got no data. */
  readonly requestIds: ReadonlySet<string>;
  /** Requests without data, by their answer. */
  readonly failures: ReadonlyMap<string, number>;
  /** Resolves when each wallet has had one turn, the next kind of operation each. */
  round(): Promise<void>;
  /** One sponsored operation of each wallet, not mined. */
  signAll(): Promise<readonly SignedUserOp[]>;
  mine(op: SignedUserOp): Promise<void>;
  /** Has another operation with the same nonce sponsored and mined. */
  replace(op: SignedUserOp): Promise<void>;
};

/** A new paymaster. */
export async function createCustomer(
  connection: Pick<Required<Connection>, 'dashboardUrl' | 'authToken' | 'chainId'>,
  name: string,
  version: string,
): Promise<Customer> {
  const { chainId } = connection;
  const created = await dashboard(connection, 'POST', '/paymaster', {
    body: { name, type: 'HYBRID', chainId, version },
  });
  if (created.status !== 200) throw new Error(`no paymaster: ${JSON.stringify(created)}`);
  const { paymasterId, apiKey } = created.body.data as { paymasterId: string; apiKey: string };
  return { paymasterId, path: `/api/v1/${chainId}/${apiKey}` };
}

const counter = new Interface(['function increment()']);
const plenty = 10n ** 12n;
/** Bounds a hang. */
const patienceMs = 200_000;

type Wallet = { readonly account: TestAccount; readonly customer: Customer; readonly other: Customer };

export async function createLedgerTraffic(
  devChain: DevChain,
  version: string,
  {
    replicas,
    customers,
  }: {
    /** Origins of JSON-RPC servers. */
    readonly replicas: readonly string[];
    readonly customers: readonly [Customer, Customer];
  },
): Promise<LedgerTraffic> {
  const profile = devChain.profile(version);
  const { entryPointVersion, entryPoint } = profile;
  const token = devChain.deployments.feeToken.address;
  const increment = {
    to: devChain.deployments.sponsoredContract.address,
    data: encodeWith(counter, 'increment', []),
  };
  const answered: Answered[] = [];
  const requestIds = new Set<string>();
  const failures = new Map<string, number>();
  const owners = new Map<TestAccount['address'], Wallet>();
  let asks = 0;
  let rounds = 0;

  const turns: readonly ((wallet: Wallet) => Promise<void>)[] = [
    async function sponsored(wallet) {
      await mine(await sign(wallet, await draft(wallet)));
    },
    async function paidInTokens(wallet) {
      await mine(
        await sign(wallet, await draft(wallet, [approval(token, profile, plenty), increment]), 'ERC20'),
      );
    },
    async function reverted(wallet) {
      // Enough to begin the call, and too little to end it.
      await mine(await sign(wallet, await draft(wallet, [increment], { callGasLimit: 9_000n })));
    },
    async function expired(wallet) {
      await sign(wallet, await draft(wallet));
    },
    async function replaced(wallet) {
      await replace(await sign(wallet, await draft(wallet)));
    },
    async function spentElsewhere(wallet) {
      await sign(wallet, await draft(wallet));
      const swapped = { ...wallet, customer: wallet.other };
      await mine(await sign(swapped, await draft(wallet, [increment, increment])));
    },
  ];
  // One of each kind in every round.
  const wallets = await Promise.all(turns.map((_, index) => newWallet(index)));

  async function newWallet(index: number): Promise<Wallet> {
    const account = await buildAccount(devChain, entryPointVersion);
    await mint(devChain, token, account.address, plenty);
    const [first, second] = customers;
    const wallet =
      index % 2 === 0
        ? { account, customer: first, other: second }
        : { account, customer: second, other: first };
    owners.set(account.address, wallet);
    return wallet;
  }

  function draft(
    { account }: Wallet,
    calls: readonly Call[] = [increment],
    limits: Partial<FinalUserOperation> = {},
  ): Promise<FinalUserOperation> {
    return buildUserOp(account, calls, limits);
  }

  /** Asks replicas until one answers with data. */
  async function sign(
    { account, customer }: Wallet,
    op: FinalUserOperation,
    mode: 'SPONSORED' | 'ERC20' = 'SPONSORED',
  ): Promise<SignedUserOp> {
    const asked = {
      mode,
      calculateGasLimits: false,
      ...(mode === 'ERC20' && { tokenInfo: { feeTokenAddress: token } }),
    };
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const requestId = randomUUID();
      requestIds.add(requestId);
      const replica = replicas[(asks += 1) % replicas.length]!;
      const answer = await rpc(`${replica}${customer.path}`, 'pm_sponsorUserOperation', [toWire(op), asked], {
        'x-request-id': requestId,
      }).catch(() => undefined);
      const data = answer?.result?.['paymasterAndData'] as Hex | undefined;
      if (data !== undefined && data !== '0x') {
        const hash = userOpHash(op, data, {
          version: entryPointVersion,
          entryPoint,
          chainId: devChain.chainId,
        });
        if (hash === undefined) throw new Error('the userOpHash is not known off chain');
        answered.push({ requestId, customer, userOpHash: hash });
        return signByAccount(account, op, data);
      }
      const failure =
        answer === undefined
          ? 'no answer'
          : `${answer.error?.code} ${answer.reason} ${JSON.stringify(answer.error?.data?.['reason'])}`;
      failures.set(failure, (failures.get(failure) ?? 0) + 1);
      if (performance.now() > deadline)
        throw new Error(`no replica signs: ${JSON.stringify(answer)} after ${JSON.stringify([...failures])}`);
      await pause(20);
    }
  }

  async function mine(op: SignedUserOp): Promise<void> {
    await handleOp(devChain, entryPointVersion, op);
  }

  async function replace({ op }: SignedUserOp): Promise<void> {
    const wallet = owners.get(op.sender)!;
    const second = await draft(wallet, [increment, increment]);
    if (second.nonce !== op.nonce) throw new Error(`the nonce ${op.nonce} is used already`);
    await mine(await sign(wallet, second));
  }

  return {
    answered,
    requestIds,
    failures,
    async round() {
      const number = (rounds += 1);
      await Promise.all(wallets.map((wallet, index) => turns[(number + index) % turns.length]!(wallet)));
    },
    signAll: () => Promise.all(wallets.map(async (wallet) => sign(wallet, await draft(wallet)))),
    mine,
    replace,
  };
}
