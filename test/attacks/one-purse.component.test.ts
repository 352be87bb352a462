import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { parseEther } from '../../core/units/wei.js';
import { toAddressKey } from '../../core/units/address.js';
import { encodeWith, type Call, type TestAccount } from '../chain/support/account.js';
import { balanceOf } from '../chain/support/balances.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { handleOps } from '../chain/support/handle-ops.js';
import { approval, mint, tokenCodecOf, tokenContract, transfer } from '../chain/support/tokens.js';
import { buildUserOp, type SignedUserOp } from '../chain/support/user-op.js';
import { startService, type Service } from './support/service.js';
import { onReplicas } from './support/stores.js';
import { sendAs } from '../chain/support/send-as.js';
import { aDeployedAccount, ask as askFor, increment } from './support/wallet.js';

// Many accounts show the same purse of tokens, one after the other: each gets its operation signed because of it and passes
// the purse on. Then all their operations are mined, and pay nothing.

const purse = 5_000_000_000n;
/** Number of accounts in each attack. */
const accounts = 24;

type Layout = { readonly version: string; readonly tokenPayment?: 'preFund'; readonly secures: boolean };
const layoutRows: readonly Layout[] = [
  { version: '1.1.0', secures: true },
  { version: '2.0.0', secures: true },
  { version: 'singleton-0.7', secures: false },
  { version: 'singleton-0.8', tokenPayment: 'preFund', secures: true },
];
const budget = '0.02';

let devChain: DevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());

describe.each(onReplicas)('on %s', (store) => {
  let service: Service;
  beforeAll(async () => {
    const preFund = new Map(layoutRows.map(({ version, tokenPayment }) => [version, tokenPayment]));
    service = await startService(store, {
      devChain,
      versions: layoutRows.map(({ version }) => version),
      profile: (version) => {
        const tokenPayment = preFund.get(version);
        return { tokenLossBudget: budget, ...(tokenPayment === undefined ? {} : { tokenPayment }) };
      },
    });
  });
  afterAll(() => service.stop());

  describe.each(layoutRows)('$version', ({ version, tokenPayment, secures }) => {
    let attacker: { readonly url: string };
    let neighbour: { readonly url: string };
    beforeAll(async () => {
      attacker = await service.paymaster('thieves', { paymasterId: `thieves-${version}`, version });
      neighbour = await service.paymaster('honest', { paymasterId: `honest-${version}`, version });
      // The treasury refunds what was charged too much in advance, where the contract itself holds no tokens.
      const { feeToken, treasury } = devChain.deployments;
      await sendAs(devChain, treasury, approval(feeToken.address, profile(), 10n ** 18n));
    });

    test('a purse shown by 24 accounts costs at most the budget, and honest accounts are served meanwhile', async () => {
      const honest = await anAccountWith(purse);
      const rich = await anAccountWith(purse);
      await approve(rich);
      const before = await depositOf();
      const lost = { unpaid: 0n, operations: 0, notMined: 0 };
      let holder: TestAccount | undefined;
      const waiting: SignedUserOp[] = [];
      const refusals: unknown[] = [];
      for (let nth = 0; nth < accounts; nth += 1) {
        const next = await anAccountWith(0n);
        if (holder === undefined) await mint(devChain, token(), next.address, purse);
        else await passOn(holder, next);
        holder = next;
        const { signed, reason } = await ask(attacker.url, next, [approval(token(), profile(), purse)]);
        if (signed === undefined) refusals.push(reason);
        else waiting.push(signed);
        if (waiting.length > 0 && signed === undefined) await mineAll();
      }
      if (holder !== undefined) await passOn(holder, await anAccountWith(0n));
      await mineAll();

      expect(new Set(refusals)).toEqual(new Set(['TOKEN_EXPOSURE_FULL']));
      // Contracts that check the tokens in validation reject even the operations that were signed once the purse is gone.
      expect(lost.operations > 0).toBe(version.startsWith('singleton'));
      expect(lost.unpaid).toBeLessThanOrEqual(parseEther(budget));
      // What the EntryPoint took from the contract's deposit, whatever events say.
      expect(before - (await depositOf())).toBeLessThanOrEqual(parseEther(budget));
      await service.settled(lost.notMined, version);
      // Another organisation is served without an allowance. Where payments can be secured, everybody with an allowance is served.
      await pays(neighbour.url, honest, [approval(token(), profile(), purse)]);
      await service.settled(lost.notMined, version);
      if (secures) await pays(besides().url, rich, []);

      async function mineAll(): Promise<void> {
        // The control, while those are pending: secured payments never wait.
        if (secures) await pays(besides().url, rich, []);
        const { unpaid, operations, notMined } = await mine(waiting.splice(0));
        lost.unpaid += unpaid;
        lost.operations += operations;
        lost.notMined += notMined;
        await service.settled(lost.notMined, version);
      }
    });

    /** Where a secured payment passes while the attack runs: the part that preFund leaves open draws on the paymaster's part. */
    function besides(): { readonly url: string } {
      return tokenPayment === 'preFund' ? neighbour : attacker;
    }

    function token() {
      return devChain.deployments.feeToken.address;
    }

    function profile() {
      return devChain.profile(version);
    }

    /** An account that exists: one that does not exist could not pass the purse on. */
    async function anAccountWith(amount: bigint): Promise<TestAccount> {
      const account = await aDeployedAccount(devChain, version);
      if (amount > 0n) await mint(devChain, token(), account.address, amount);
      return account;
    }

    async function ask(url: string, account: TestAccount, calls: readonly Call[]) {
      const op = await buildUserOp(account, [...calls, increment(devChain)]);
      const mode = { mode: 'ERC20', tokenInfo: { feeTokenAddress: token() } };
      return askFor(url, op, mode, account);
    }

    /** The control: the operation is signed, mined, and pays. */
    async function pays(url: string, account: TestAccount, calls: readonly Call[]): Promise<void> {
      const { answer, signed } = await ask(url, account, calls);
      expect(answer.error).toBeUndefined();
      if (signed === undefined) throw new Error('nothing was signed');
      const held = await balanceOf(devChain, token(), account.address);
      const { events } = await handleOps(devChain, profile().entryPointVersion, [signed]);
      expect(events.map(({ success }) => success)).toEqual([true]);
      expect(await balanceOf(devChain, token(), account.address)).toBeLessThan(held);
    }

    async function passOn(from: TestAccount, to: TestAccount): Promise<void> {
      const held = await balanceOf(devChain, token(), from.address);
      if (held > 0n) await sendAs(devChain, from.address, transfer(token(), to.address, held));
    }

    async function approve(account: TestAccount): Promise<void> {
      await sendAs(devChain, account.address, approval(token(), profile(), 10n ** 18n));
    }

    /** Mines each in a separate bundle, as a careless bundler would. Resolves with the cost of those that paid nothing. */
    async function mine(ops: readonly SignedUserOp[]) {
      const contract = toAddressKey(tokenContract(profile()));
      let unpaid = 0n;
      let operations = 0;
      let notMined = 0;
      for (const signed of ops) {
        const mined = await handleOps(devChain, profile().entryPointVersion, [signed]).catch(() => undefined);
        const [event] = mined?.events ?? [];
        if (mined === undefined || event === undefined) {
          notMined += 1;
          continue;
        }
        const { userOpHash, actualGasCost } = event;
        const charge = tokenCodecOf(profile()).chargeOf(mined.logs, { paymaster: contract, userOpHash });
        if (charge !== undefined) continue;
        unpaid += actualGasCost;
        operations += 1;
      }
      return { unpaid, operations, notMined };
    }

    async function depositOf(): Promise<bigint> {
      const { chain, deployments } = devChain;
      const data = encodeWith(
        new Interface(['function balanceOf(address) view returns (uint256)']),
        'balanceOf',
        [tokenContract(profile())],
      );
      return BigInt(await chain.call({ to: deployments.entryPoints[profile().entryPointVersion], data }));
    }
  });
});
