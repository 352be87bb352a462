import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { approval, mint, transfer } from '../chain/support/tokens.js';
import { aLimitConfig } from '../build/configs.js';
import type { TestAccount } from '../chain/support/account.js';
import { balanceOf } from '../chain/support/balances.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { handleOps } from '../chain/support/handle-ops.js';
import { buildUserOp } from '../chain/support/user-op.js';
import { mineRelayed } from './support/relayed.js';
import { startService, type Service } from './support/service.js';
import { onOneProcess } from './support/stores.js';
import { sendAs } from '../chain/support/send-as.js';
import { aDeployedAccount, ask, explain, increment, usedOf } from './support/wallet.js';

// For one nonce an account requests a cheap sponsorship, an expensive payment in tokens, and a cheap one. It moves its tokens away
// and has the expensive one mined. The ledger booked it as the sponsorship, and so showed no loss.

const plenty = 10n ** 12n;
const gwei = 10n ** 9n;
const versions = ['2.0.0', 'singleton-0.7', 'singleton-0.8'] as const;

let devChain: DevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());

describe.each(onOneProcess)('on %s', (store) => {
  let service: Service;
  beforeAll(async () => {
    service = await startService(store, { devChain, versions });
  });
  afterAll(() => service.stop());

  describe.each(versions)('%s', (version) => {
    let shop: Awaited<ReturnType<Service['paymaster']>>;
    let stranger: { readonly url: string };
    beforeAll(async () => {
      const limit = aLimitConfig({
        policyId: `limit-${version}`,
        scope: 'SMART_ACCOUNT',
        thresholdType: 'NATIVE_ASSET',
        threshold: '0.003',
      });
      shop = await service.paymaster('shop', { paymasterId: `shop-${version}`, version, limits: [limit] });
      stranger = await service.paymaster('stranger', { paymasterId: `stranger-${version}`, version });
    });

    const inTokens = () => ({
      mode: 'ERC20',
      tokenInfo: { feeTokenAddress: devChain.deployments.feeToken.address },
    });
    const tip = { maxPriorityFeePerGas: gwei };
    const settings = {
      cheap: { maxFeePerGas: (3n * gwei) / 2n, ...tip },
      dear: { maxFeePerGas: 6n * gwei, ...tip },
    };

    test('the unpaid operation is a loss, bars its account, and takes nothing of a limit', async () => {
      const token = devChain.deployments.feeToken.address;
      const thief = await aDeployedAccount(devChain, version);
      await mint(devChain, token, thief.address, plenty);
      await sendAs(devChain, thief.address, approval(token, devChain.profile(version), plenty));
      const calls = [increment(devChain)];
      const cheap = await buildUserOp(thief, calls, settings.cheap);
      const dear = await buildUserOp(thief, calls, settings.dear);

      expect((await ask(shop.url, cheap, { mode: 'SPONSORED' })).reason).toBeUndefined();
      const promised = await ask(shop.url, dear, inTokens(), thief);
      expect(promised.reason).toBeUndefined();
      expect((await ask(shop.url, { ...cheap, callGasLimit: 210_000n }, inTokens())).reason).toBeUndefined();

      await sendAs(
        devChain,
        thief.address,
        transfer(token, devChain.deployments.treasury, await held(thief)),
      );
      const isMined = await mine(promised.signed);
      // Where the contract takes the tokens in validation, the operation costs nobody anything.
      expect(isMined).toBe(version !== '2.0.0');
      if (!isMined) return;
      await service.settled(0, `shop-${version}`);
      const next = await buildUserOp(thief, calls, settings.cheap);
      expect((await ask(shop.url, next, inTokens())).reason).toBe('SENDER_BARRED');
      expect(usedOf(await explain(shop.url, next, { mode: 'SPONSORED' }))).toBe(0);
      const { losses } = await explain(shop.url, next, inTokens());
      const contract = (losses as readonly { of: string; lost: string }[]).find(
        ({ of }) => of === 'contract',
      );
      expect(Number(contract?.lost)).toBeGreaterThan(0);
    });

    test('so is one that a contract relays, by its operation hash, which a later promise of the nonce has recorded', async () => {
      // EntryPoint 0.7 takes bundles from contracts, and this contract reports nothing when it cannot collect.
      if (version !== 'singleton-0.7') return;
      const token = devChain.deployments.feeToken.address;
      const url = shop.urlAt(0);
      const thief = await aDeployedAccount(devChain, version);
      await mint(devChain, token, thief.address, plenty);
      await sendAs(devChain, thief.address, approval(token, devChain.profile(version), plenty));
      const op = await buildUserOp(thief, [increment(devChain)], settings.cheap);
      const promised = await ask(url, op, inTokens(), thief);
      expect(promised.reason).toBeUndefined();
      // A sponsorship of the same cost, asked of the same replica.
      expect((await ask(url, op, { mode: 'SPONSORED' })).reason).toBeUndefined();
      await sendAs(
        devChain,
        thief.address,
        transfer(token, devChain.deployments.treasury, await held(thief)),
      );
      await mineRelayed(devChain, '0.7', promised.signed!);
      await service.settled(0, `shop-${version}`);
      const next = await buildUserOp(thief, [increment(devChain)], settings.cheap);
      expect((await ask(url, next, inTokens())).reason).toBe('SENDER_BARRED');
      expect(usedOf(await explain(url, next, { mode: 'SPONSORED' }))).toBe(0);
    });

    test("a thousand requests of a stranger for a victim's nonce neither stop the victim nor falsify what it spent", async () => {
      const victim = await aDeployedAccount(devChain, version);
      const op = await buildUserOp(victim, [increment(devChain)], settings.cheap);
      const first = await ask(shop.url, op, { mode: 'SPONSORED' }, victim);
      expect(first.reason).toBeUndefined();
      const asks = Array.from({ length: 1_000 }, (_, nth) => ({
        ...op,
        callGasLimit: 100_000n + BigInt(nth),
      }));
      while (asks.length > 0)
        await Promise.all(asks.splice(0, 50).map((each) => ask(stranger.url, each, { mode: 'SPONSORED' })));

      // The victim asks again and is served again; the operation of its first request is mined.
      expect((await ask(shop.url, op, { mode: 'SPONSORED' })).reason).toBeUndefined();
      // Where the thief's operation could not be mined, its promise is still open.
      const left = version === '2.0.0' ? 1 : 0;
      const cost = await costOf(first.signed);
      await service.settled(left, `shop-${version}`);
      const next = await buildUserOp(victim, [increment(devChain)], settings.cheap);
      const used = usedOf(await explain(shop.url, next, { mode: 'SPONSORED' }));
      expect(Math.abs(used - Number(cost) / 1e18)).toBeLessThan(1e-9);
      expect((await ask(shop.url, next, { mode: 'SPONSORED' })).reason).toBeUndefined();
    });

    async function held(account: TestAccount): Promise<bigint> {
      return balanceOf(devChain, devChain.deployments.feeToken.address, account.address);
    }

    async function mine(signed: Parameters<typeof handleOps>[2][number] | undefined): Promise<boolean> {
      if (signed === undefined) throw new Error('nothing was signed');
      const { entryPointVersion } = devChain.profile(version);
      return handleOps(devChain, entryPointVersion, [signed]).then(
        () => true,
        () => false,
      );
    }

    async function costOf(signed: Parameters<typeof handleOps>[2][number] | undefined): Promise<bigint> {
      if (signed === undefined) throw new Error('nothing was signed');
      const { entryPointVersion } = devChain.profile(version);
      const { events } = await handleOps(devChain, entryPointVersion, [signed]);
      return events[0]?.actualGasCost ?? 0n;
    }
  });
});
