import { recoverAddress } from 'ethers';
import { layouts } from '../../../core/paymaster/layouts.js';
import { parseAddress, type Address } from '../../../core/units/address.js';
import { bytesToHex, type Hex } from '../../../core/units/hex.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import { increment } from '../../attacks/support/wallet.js';
import { buildAccount, type TestAccount } from '../../chain/support/account.js';
import { handleOp, refusalOf } from '../../chain/support/handle-ops.js';
import { buildUserOp, signByAccount, type SignedUserOp } from '../../chain/support/user-op.js';
import { rpc, toWire, unlessBusy } from './client.js';
import type { Rotation } from './rotation.js';
import { personalDigest } from '../../build/signing.js';

/** The fate of signed data: `void` = the contract does not accept the key, `held` = nobody has tried to mine it yet. */
export type Outcome = 'mined' | 'void' | 'expired' | 'held';

/** Data that a replica has signed. */
export type Signed = {
  readonly version: string;
  readonly replica: number;
  readonly signer: Address;
  /** Seconds, and the clock of the service when the answer was there. */
  readonly validUntil: number;
  readonly answeredAt: number;
  readonly userOp: SignedUserOp;
  outcome: Outcome;
};

export type Refused = { readonly version: string; readonly code: unknown; readonly reason: unknown };

/** Wallets that ask for data, mine the operation at once, and do so again. Each round asks another replica. */
export type Traffic = {
  /** In the order of the answers. */
  readonly signed: readonly Signed[];
  readonly refused: readonly Refused[];
  /** Resolves when every wallet has had this many further turns. */
  rounds(count: number): Promise<void>;
  /** While `act` runs no wallet does anything. */
  between<T>(act: () => Promise<T>): Promise<T>;
  /** Data for an operation of a wallet that waits with it; the wallet is new. Throws when nothing is signed. */
  hold(version: string, replica?: number): Promise<Signed>;
  /** Mines the held operations. */
  mine(held: Signed): Promise<Outcome>;
  /** Resolves when the running turns have ended; throws the error of a wallet. */
  stop(): Promise<void>;
};

const walletsOfEach = 2;

export async function startTraffic(rotation: Rotation, versions: readonly string[]): Promise<Traffic> {
  const { devChain, clock } = rotation;
  const signed: Signed[] = [];
  const refused: Refused[] = [];
  const urls = new Map<string, readonly string[]>();
  for (const version of versions) urls.set(version, await rotation.urls(version));
  const wallets = await Promise.all(
    versions.flatMap((version) => Array.from({ length: walletsOfEach }, () => aWallet(version))),
  );
  const waiting: (() => Promise<void>)[] = [];
  let rounds = 0;
  let isStopped = false;
  const running = run();
  // Notifies everyone that waits for a round; there may be nobody yet.
  running.catch(() => {});

  async function run(): Promise<void> {
    while (!isStopped) {
      for (const act of waiting.splice(0)) await act();
      await Promise.all(wallets.map((wallet, index) => turn(wallet, rounds + index)));
      rounds += 1;
    }
    for (const act of waiting.splice(0)) await act();
  }

  async function turn({ version, account }: Wallet, at: number): Promise<void> {
    const op = await buildUserOp(account, [increment(devChain)]);
    const answer = await ask(version, account, op, at);
    if (answer !== undefined) await mine(answer);
  }

  async function ask(
    version: string,
    account: TestAccount,
    op: FinalUserOperation,
    at: number,
  ): Promise<Signed | undefined> {
    const addresses = urls.get(version) ?? [];
    const replica = at % addresses.length;
    const asked = [toWire(op), { mode: 'SPONSORED' }];
    const { result, error } = await unlessBusy(() =>
      rpc(addresses[replica] ?? '', 'pm_sponsorUserOperation', asked),
    );
    const data = result?.['paymasterAndData'];
    if (typeof data !== 'string' || data === '0x') {
      refused.push({ version, code: error?.code, reason: error?.data?.['reason'] ?? result?.['reason'] });
      return undefined;
    }
    const { layout } = devChain.profile(version);
    const found: Signed = {
      version,
      replica,
      ...signatureOf(layout, op, data as Hex, devChain.chainId),
      answeredAt: Math.ceil(clock.now() / 1000),
      userOp: await signByAccount(account, op, data as Hex),
      outcome: 'held',
    };
    signed.push(found);
    return found;
  }

  async function mine(one: Signed): Promise<Outcome> {
    const { entryPointVersion } = devChain.profile(one.version);
    try {
      const { event } = await handleOp(devChain, entryPointVersion, one.userOp);
      if (!event.success) throw new Error(`the call of ${one.version} failed`);
      one.outcome = 'mined';
    } catch (error) {
      one.outcome = outcomeOf(await refusalOf(devChain, entryPointVersion, [one.userOp]), error);
    }
    await clock.keepUp(devChain);
    return one.outcome;
  }

  type Wallet = { readonly version: string; readonly account: TestAccount };

  async function aWallet(version: string): Promise<Wallet> {
    return { version, account: await buildAccount(devChain, devChain.profile(version).entryPointVersion) };
  }

  return {
    signed,
    refused,
    async rounds(count) {
      const wanted = rounds + count + 1;
      while (rounds < wanted) {
        if (isStopped) throw new Error('the wallets were stopped');
        await Promise.race([running, new Promise((resolve) => setTimeout(resolve, 5))]);
      }
    },
    between<T>(act: () => Promise<T>): Promise<T> {
      const done = new Promise<T>((resolve, reject) => {
        waiting.push(() => act().then(resolve, reject));
      });
      return Promise.race([done, running.then(() => done)]);
    },
    async hold(version, replica = 0) {
      const { account } = await aWallet(version);
      const held = await ask(version, account, await buildUserOp(account, [increment(devChain)]), replica);
      if (held === undefined) throw new Error(`nothing was signed: ${JSON.stringify(refused.at(-1))}`);
      return held;
    },
    mine,
    async stop() {
      isStopped = true;
      await running;
    },
  };
}

function outcomeOf(refusal: string, error: unknown): Outcome {
  if (refusal.startsWith('AA34')) return 'void';
  if (refusal.startsWith('AA32')) return 'expired';
  throw new Error(`an operation was not mined, and the EntryPoint says: ${refusal}`, { cause: error });
}

function signatureOf(
  layout: keyof typeof layouts,
  op: FinalUserOperation,
  data: Hex,
  chainId: number,
): Pick<Signed, 'signer' | 'validUntil'> {
  const { sponsorship } = layouts[layout];
  const { signature, validUntil } = sponsorship.decode(data);
  const promise = sponsorship.recognise(op, data, chainId);
  if (promise === undefined || promise === 'unsigned') throw new Error(`${layout} does not read ${data}`);
  const digest = bytesToHex(personalDigest(promise.hash));
  return { signer: parseAddress(recoverAddress(digest, signature)), validUntil };
}
