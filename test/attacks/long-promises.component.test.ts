import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { CallReverted } from '../../core/chain/chain.js';
import type { Hex } from '../../core/units/hex.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { buildAccount, encodeWith, type TestAccount } from '../chain/support/account.js';
import { encodeHandleOps, handleOp } from '../chain/support/handle-ops.js';
import { approval, mint } from '../chain/support/tokens.js';
import { buildUserOp, signByAccount, type SignedUserOp } from '../chain/support/user-op.js';
import { rpc, toWire, type RpcAnswer } from '../system/support/client.js';
import { onOneProcess } from './support/stores.js';
import { startWorld, type World } from './support/world.js';

// A promise that nobody mines holds deposits and limits until it ends, for free. An attacker requests the longest promise.

const counter = new Interface(['function increment()']);
const versions = ['1.1.0', '2.0.0', 'singleton-0.6', 'singleton-0.7', 'singleton-0.8'] as const;
const longest = 86_400;
const plenty = 10n ** 10n;

const chains = [
  { name: 'the Chain sets nothing', chain: undefined, seconds: 600 },
  { name: 'the platform allows its multi-signature wallets two hours', chain: 7200, seconds: 7200 },
] as const;
const cases = onOneProcess.flatMap((store) => chains.map((row) => ({ store, ...row })));

describe.each(cases)('$name, on $store', ({ store, chain, seconds }) => {
  let world: World;
  const urls = new Map<string, string>();
  beforeAll(async () => {
    world = await startWorld(store, chain === undefined ? {} : { maxExpirySeconds: chain });
    for (const version of versions)
      urls.set(version, await world.paymaster(version, { maxExpirySeconds: longest }));
  });
  afterAll(() => world.stop());

  describe.each(versions)('version %s', (version) => {
    test.each([
      { mode: 'SPONSORED', allowed: seconds },
      { mode: 'ERC20', allowed: 600 },
    ])(
      'a day of $mode becomes $allowed s, and the EntryPoint refuses it after that',
      async ({ mode, allowed }) => {
        const before = Date.now() / 1000;
        const { signed, result } = await ask(mode, longest);
        expect(result).toMatchObject({ expiryAsked: longest });
        const validUntil = Number(result?.['validUntil']);
        expect(validUntil).toBeLessThanOrEqual(Date.now() / 1000 + allowed);
        expect(validUntil).toBeGreaterThan(before + allowed - 60);
        expect(await refusalAt(validUntil + 1, signed)).toMatch(/AA32/);
        expect(await refusalAt(validUntil - 1, signed)).toBe('accepted');
      },
    );

    test.each(['SPONSORED', 'ERC20'])('control: 300 s of %s are given as asked, and mined', async (mode) => {
      const { signed, result } = await ask(mode, 300);
      expect(result).not.toHaveProperty('expiryAsked');
      const { event } = await handleOp(world.devChain, entryPointVersion(), signed);
      expect(event.success).toBe(true);
    });

    test.each([0, longest + 1])('an expiryDuration of %i is not a valid request', async (expiryDuration) => {
      const { op } = await operation();
      const mode = { mode: 'SPONSORED', expiryDuration };
      const { error } = await rpc(urls.get(version) ?? '', 'pm_sponsorUserOperation', [toWire(op), mode]);
      expect(error).toMatchObject({ code: -32602 });
    });

    async function operation() {
      const { devChain } = world;
      const { feeToken, sponsoredContract } = devChain.deployments;
      const account: TestAccount = await buildAccount(devChain, entryPointVersion());
      await mint(devChain, feeToken.address, account.address, plenty);
      const increment = { to: sponsoredContract.address, data: encodeWith(counter, 'increment', []) };
      const approve = approval(feeToken.address, devChain.profile(version), plenty);
      return { account, increment, approve, op: await buildUserOp(account, [increment]) };
    }

    async function ask(
      mode: string,
      expiryDuration: number,
    ): Promise<{ readonly signed: SignedUserOp; readonly result: RpcAnswer['result'] }> {
      const { account, increment, approve, op: plain } = await operation();
      const op = mode === 'ERC20' ? await buildUserOp(account, [approve, increment]) : plain;
      const tokenInfo = { feeTokenAddress: world.devChain.deployments.feeToken.address };
      const answer = await rpc(urls.get(version) ?? '', 'pm_sponsorUserOperation', [
        toWire(op),
        { mode, expiryDuration, tokenInfo },
      ]);
      expect(answer.error).toBeUndefined();
      const { result } = answer;
      return { signed: await signByAccount(account, op, result?.['paymasterAndData'] as Hex), result };
    }

    /** What the EntryPoint answers to a bundle in a block with that timestamp. */
    async function refusalAt(time: number, signed: SignedUserOp): Promise<string> {
      const { chain, deployments } = world.devChain;
      const call = {
        from: devAccounts.deployer.address,
        to: deployments.entryPoints[entryPointVersion()],
        data: encodeHandleOps(entryPointVersion(), [signed]),
      };
      try {
        await chain.request('eth_call', [call, 'latest', {}, { time: `0x${time.toString(16)}` }]);
        return 'accepted';
      } catch (error) {
        if (!(error instanceof CallReverted)) throw error;
        return Buffer.from(error.data.slice(2), 'hex').toString('latin1');
      }
    }

    function entryPointVersion() {
      return world.devChain.profile(version).entryPointVersion;
    }
  });
});
