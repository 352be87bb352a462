import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { toAddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import { aLimitConfig } from '../build/configs.js';
import { packedData } from '../build/rpc.js';
import type { TestAccount } from '../chain/support/account.js';
import { balanceOf } from '../chain/support/balances.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { handleOps } from '../chain/support/handle-ops.js';
import { sendAs } from '../chain/support/send-as.js';
import { approval, mint } from '../chain/support/tokens.js';
import { buildUserOp, signByAccount } from '../chain/support/user-op.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { rpc, toWire } from '../system/support/client.js';
import { startService, type Served, type Service } from './support/service.js';
import { onOneProcess } from './support/stores.js';
import { aDeployedAccount, ask, askForNobody, increment } from './support/wallet.js';

// Anyone with the apiKey can use up a limit that all accounts share, for senders that never send. So he makes refusals, and requests
// with `otherwise` then pay in tokens. What he must not reach: that an account pays that did not ask for it, pays more than it said, or
// pays after its wallet has shown a sponsor.

const plenty = 10n ** 12n;
const versions = ['1.1.0', 'singleton-0.7', 'hybrid-0.9'] as const;
const threshold = 3;

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
    let served: Served;
    let victim: TestAccount;
    let op: FinalUserOperation;
    let paymasterId: string;
    let paymasters = 0;
    beforeEach(async () => {
      paymasterId = `shop-${version}-${store}-${(paymasters += 1)}`;
      const limit = aLimitConfig({ policyId: `all-of-${paymasterId}`, threshold: `${threshold}` });
      served = await service.paymaster('shop', { paymasterId, version, limits: [limit] });
      victim = await aDeployedAccount(devChain, version);
      await mint(devChain, token(), victim.address, plenty);
      await sendAs(devChain, victim.address, approval(token(), devChain.profile(version), plenty));
      op = await buildUserOp(victim, [increment(devChain)]);
    });

    test('an account pays nothing that did not ask to, and never more than it said', async () => {
      await fillTheLimit();
      expect(await ask(served.url, op, { mode: 'SPONSORED' }, victim)).toMatchObject({
        reason: 'LIMIT_REACHED',
        signed: undefined,
      });
      const tooLittle = await ask(served.url, op, { mode: 'SPONSORED', otherwise: upTo(1n) }, victim);
      expect(tooLittle).toMatchObject({ reason: 'LIMIT_REACHED', signed: undefined });
      expect(tooLittle.answer.result?.['otherwise']).toEqual({ reason: 'TOKEN_AMOUNT_TOO_HIGH' });
      const most = plenty / 1_000n;
      const { signed, answer } = await ask(
        served.url,
        op,
        { mode: 'SPONSORED', otherwise: upTo(most) },
        victim,
      );
      expect(answer.result).toMatchObject({ mode: 'ERC20', insteadOf: { reason: 'LIMIT_REACHED' } });
      expect(await mined(signed)).toBe(true);
      const paid = await paidByVictim();
      expect(paid).toBeGreaterThan(0n);
      expect(paid).toBeLessThanOrEqual(most);
    });

    test('an account whose wallet was told of a sponsor never gets data that take its tokens', async () => {
      const context = { otherwise: upTo(plenty) };
      const stub = await erc7677('pm_getPaymasterStubData', op, {}, context);
      expect(stub.error).toBeUndefined();
      // Between stub and data.
      await fillTheLimit();
      for (const fields of [stub.result ?? {}, {}]) {
        const { result, error } = await erc7677('pm_getPaymasterData', op, fields, context);
        expect(result).toBeUndefined();
        expect(error?.data).toMatchObject({ reason: 'LIMIT_REACHED', retry: 'ERC20' });
      }
      // A new stub shows the account that it pays; then it may.
      const again = await erc7677('pm_getPaymasterStubData', op, {}, context);
      expect(again.result).not.toHaveProperty('sponsor');
      const { result } = await erc7677('pm_getPaymasterData', op, again.result ?? {}, context);
      expect(await mined(await signByAccount(victim, op, packedData(result ?? {}) as Hex))).toBe(true);
      expect(await paidByVictim()).toBeGreaterThan(0n);
    });

    const token = () => devChain.deployments.feeToken.address;
    const upTo = (most: bigint) => ({
      mode: 'ERC20',
      feeTokenAddress: token(),
      maxTokenAmount: most.toString(),
    });
    const paidByVictim = async () =>
      plenty - (await balanceOf(devChain, token(), toAddressKey(victim.address)));

    async function fillTheLimit(): Promise<void> {
      const reasons = await askForNobody(() => served.url, op, {
        count: threshold + 1,
        mode: { mode: 'SPONSORED' },
      });
      expect(reasons.filter((reason) => reason === 'LIMIT_REACHED')).toHaveLength(1);
    }

    async function mined(signed: Parameters<typeof handleOps>[2][number] | undefined): Promise<boolean> {
      if (signed === undefined) throw new Error('nothing was signed');
      const { events } = await handleOps(devChain, devChain.profile(version).entryPointVersion, [signed]);
      await service.settled(threshold, paymasterId);
      return events[0]?.success === true;
    }

    /** With the fields of the answer before, as wallets send them back. */
    function erc7677(
      method: string,
      operation: FinalUserOperation,
      { isFinal: _final, sponsor: _sponsor, ...fields }: Readonly<Record<string, unknown>>,
      context: object,
    ) {
      const { initCode, paymasterAndData, ...common } = toWire(operation);
      const { entryPoint, entryPointVersion } = devChain.profile(version);
      const sent = {
        ...common,
        ...(entryPointVersion === '0.6' ? { initCode, paymasterAndData } : {}),
        ...fields,
      };
      return rpc(served.url, method, [sent, entryPoint, `0x${devChain.chainId.toString(16)}`, context]);
    }
  });
});
