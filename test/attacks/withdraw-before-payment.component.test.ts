import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { contractLosses } from '../../core/usage/token-losses.js';
import { toAddressKey } from '../../core/units/address.js';
import { plusMs, type EpochMs } from '../../core/units/time.js';
import { parseEther } from '../../core/units/wei.js';
import { balanceOf, sponsorBalance } from '../chain/support/balances.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { handleOps } from '../chain/support/handle-ops.js';
import { approval, mint, tokenContract } from '../chain/support/tokens.js';
import { buildUserOp } from '../chain/support/user-op.js';
import { aFickleWallet, type FickleWallet } from '../chain/support/fickle-wallet.js';
import { startService, type Service } from './support/service.js';
import { onOneProcess, stores } from './support/stores.js';
import { sendAs } from '../chain/support/send-as.js';
import { aDeployedAccount, ask, increment } from './support/wallet.js';

// The call of a wallet withdraws the allowance that it gave when its operation was simulated. The contract cannot collect the tokens.
// Where its postOp then reverted, it kept all that validation had taken: the prefund, of which the gas is a small part.

const gwei = 10n ** 9n;
const dayMs = 86_400_000;
const dayOf = (at: EpochMs): number => Math.floor(at / dayMs);
const plenty = 10n ** 12n;
/** Wei that may be lost in a day. */
const budget = parseEther('0.1');
/** Verification gas that nobody uses makes a large prefund, and is not fined. EntryPoint 0.6 counts it three times. */
const limitsOn = (entryPointVersion: string) => ({
  callGasLimit: 150_000n,
  verificationGasLimit: entryPointVersion === '0.6' ? 500_000n : 1_500_000n,
  preVerificationGas: 60_000n,
});
const versions = ['1.1.0', '2.0.0', 'singleton-0.7', 'singleton-0.8', 'hybrid-0.9'] as const;
/** More than are needed to use up the budget. */
const attempts = 40;
/** Operations whose gas costs nearly nothing. */
const cheap = 3;

let devChain: DevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());

describe.each(onOneProcess)('on %s', (store) => {
  let service: Service;
  beforeAll(async () => {
    service = await startService(store, {
      devChain,
      versions,
      profile: () => ({ tokenLossBudget: '0.1' }),
    });
  });
  afterAll(() => service.stop());

  describe.each(versions)('%s', (version) => {
    let url: () => string;
    beforeAll(async () => {
      const served = await service.paymaster('shop', { paymasterId: `shop-${version}-${store}`, version });
      url = () => served.url;
    });

    test('wallets that withdraw their allowance cost at most the budget, and every wei of it is counted', async () => {
      const limits = limitsOn(profile().entryPointVersion);
      const before = await worth();
      const counted = await lost();
      const begun = service.usage.now();
      let mined = 0;
      let refusal: unknown;
      for (let nth = 0; nth < attempts && refusal === undefined; nth += 1) {
        const wallet = await aWallet(nth);
        await wallet.intend({});
        const op = await buildUserOp(wallet, [], {
          callData: await wallet.encodeCalls([]),
          ...limits,
          maxFeePerGas: 25n * gwei,
          maxPriorityFeePerGas: gwei / 1_000n,
        });
        const { signed, reason, answer } = await ask(url(), op, inTokens(), wallet);
        refusal = reason ?? answer.error;
        if (signed === undefined) continue;
        await wallet.intend({ allowed: 0n });
        // Some of them pay the bundler nearly nothing, so that the gas is a small part of the prefund; the others use up the budget.
        if (nth >= cheap) await setBaseFee(20n * gwei);
        await handleOps(devChain, profile().entryPointVersion, [signed]);
        await setBaseFee(1n);
        mined += 1;
        await service.settled(0, `shop-${version}-${store}`);
        expect((await ask(url(), { ...op, nonce: op.nonce + 1n }, inTokens())).reason).toBe('SENDER_BARRED');
      }
      const fell = before - (await worth());
      const known = (await lost()) - counted;
      // The day may have turned meanwhile.
      const most = budget * BigInt(dayOf(service.usage.now()) - dayOf(begun) + 1);
      expect({ refusal, fell: fell <= most }).toEqual({ refusal: 'TOKEN_EXPOSURE_FULL', fell: true });
      expect(mined).toBeGreaterThan(cheap);
      // Losses are counted in gwei, rounded up, one by one.
      expect(known * gwei - fell).toBeGreaterThanOrEqual(0n);
      expect(known * gwei - fell).toBeLessThan(BigInt(mined) * gwei);
    });

    test('an honest account pays, before and after', async () => {
      const account = await aDeployedAccount(devChain, version);
      await mint(devChain, token(), account.address, plenty);
      await sendAs(devChain, account.address, approval(token(), profile(), plenty));
      const op = await buildUserOp(account, [increment(devChain)]);
      const { signed, answer } = await ask(url(), op, inTokens(), account);
      expect(answer.error).toBeUndefined();
      const counted = await lost();
      const { events } = await handleOps(devChain, profile().entryPointVersion, [signed!]);
      expect(events).toMatchObject([{ success: true }]);
      expect(await balanceOf(devChain, token(), account.address)).toBeLessThan(plenty);
      await service.settled(0, `shop-${version}-${store}`);
      expect(await lost()).toBe(counted);
    });

    async function aWallet(nth: number): Promise<FickleWallet> {
      const salt = 1_000 * (1 + stores.indexOf(store)) + nth;
      const wallet = await aFickleWallet(devChain, {
        version: profile().entryPointVersion,
        token: token(),
        paymaster: tokenContract(profile()),
        salt,
      });
      await mint(devChain, token(), wallet.address, plenty);
      return wallet;
    }

    const inTokens = () => ({ mode: 'ERC20', tokenInfo: { feeTokenAddress: token() } });
    const token = () => devChain.deployments.feeToken.address;
    const profile = () => devChain.profile(version);

    async function setBaseFee(wei: bigint): Promise<void> {
      await devChain.chain.request('anvil_setNextBlockBaseFeePerGas', [`0x${wei.toString(16)}`]);
      await devChain.chain.request('anvil_mine', ['0x1']);
    }

    /** Wei that the platform has in the contract: the token account's balance, or the deposit where no balances are kept. */
    async function worth(): Promise<bigint> {
      const contract = tokenContract(profile());
      const { treasury } = devChain.deployments;
      return sponsorBalance(devChain, contract, treasury).catch(() =>
        balanceOf(devChain, profile().entryPoint, contract),
      );
    }

    /** Gwei that the contract has lost today and the day before, as it is counted. */
    async function lost(): Promise<bigint> {
      const of = { chainId: devChain.chainId, contract: toAddressKey(tokenContract(profile())) };
      const now = service.usage.now();
      const days = [plusMs(now, -dayMs), now].map((at) => contractLosses(of, at));
      const counters = await service.usage.counters(of.chainId, days);
      return BigInt(counters.reduce((sum, { used }) => sum + used, 0));
    }
  });
});
