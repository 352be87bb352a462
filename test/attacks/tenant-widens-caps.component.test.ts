import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { layouts } from '../../core/paymaster/layouts.js';
import type { GasCaps } from '../../core/policy/rules/price-guard/gas-caps.js';
import type { Hex } from '../../core/units/hex.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { buildAccount, encodeWith } from '../chain/support/account.js';
import { handleOp } from '../chain/support/handle-ops.js';
import { buildUserOp, signByAccount } from '../chain/support/user-op.js';
import { rpc, toWire, type RpcAnswer } from '../system/support/client.js';
import { tokenPayers } from '../system/support/token-payer.js';
import { onOneProcess } from './support/stores.js';
import { startWorld, type World } from './support/world.js';

// A tenant sets the widest caps that the schema accepts on a Paymaster that the platform's deposit pays for, and is his
// own bundler: one operation would cost the deposit whole coins.

const widest: GasCaps = {
  maxFeePerGas: '1000000000000000',
  maxPriorityFeePerGas: '1000000000000000',
  maxCallGasLimit: 1_000_000_000,
  maxVerificationGasLimit: 1_000_000_000,
  maxDeploymentGas: 1_000_000_000,
  maxPreVerificationGas: 1_000_000_000,
  maxOperationGas: 3_000_000_000,
  maxUnusedGasFee: '999999999999999999999',
};
const counter = new Interface(['function increment()']);
const versions = ['1.1.0', '2.0.0', 'singleton-0.6', 'singleton-0.7', 'singleton-0.8'] as const;

const chains: readonly { readonly name: string; readonly chain: GasCaps; readonly fee: bigint }[] = [
  { name: 'the Chain sets nothing', chain: {}, fee: 50_000_000_000n },
  {
    name: 'the Chain sets caps',
    chain: { maxFeePerGas: '30000000000', maxPreVerificationGas: 200_000 },
    fee: 30_000_000_000n,
  },
];
const cases = onOneProcess.flatMap((store) => chains.map((row) => ({ store, ...row })));

describe.each(cases)('$name, on $store', ({ store, chain, fee }) => {
  let world: World;
  const urls = new Map<string, string>();
  beforeAll(async () => {
    world = await startWorld(store, { gas: chain });
    const spec = {
      gas: widest,
      maxExpirySeconds: 86_400,
      rateLimit: { perKey: { requests: 1_000_000, perSeconds: 1 } },
    };
    for (const version of versions) urls.set(version, await world.paymaster(version, spec));
  });
  afterAll(() => world.stop());

  describe.each(versions)('version %s', (version) => {
    test.each<{ name: string; overrides: Partial<FinalUserOperation>; reason: string }>([
      { name: 'a fee of 10^15 wei', overrides: { maxFeePerGas: 10n ** 15n }, reason: 'FEE_TOO_HIGH' },
      {
        name: 'a tip of half the fee cap',
        overrides: { maxFeePerGas: fee, maxPriorityFeePerGas: fee / 2n },
        reason: 'PRIORITY_FEE_TOO_HIGH',
      },
      { name: 'a call of 30 M', overrides: { callGasLimit: 30_000_000n }, reason: 'GAS_LIMIT_TOO_HIGH' },
      {
        name: 'a verification of 30 M',
        overrides: { verificationGasLimit: 30_000_000n },
        reason: 'GAS_LIMIT_TOO_HIGH',
      },
      {
        name: 'a deployment of 2 M',
        overrides: { verificationGasLimit: 2_000_000n },
        reason: 'GAS_LIMIT_TOO_HIGH',
      },
      {
        name: 'a preVerificationGas of 30 M',
        overrides: { preVerificationGas: 30_000_000n },
        reason: 'GAS_LIMIT_TOO_HIGH',
      },
    ])('$name is refused in both modes', async ({ overrides, reason }) => {
      const op = await anOperation(overrides);
      expect(reasonOf(await ask(op))).toBe(reason);
      expect(reasonOf(await ask(op, inTokens()))).toBe(reason);
    });

    test('a day of validity becomes 600 seconds', async () => {
      const op = await anOperation({});
      const { result } = await ask(op, { mode: 'SPONSORED', expiryDuration: 86_400 });
      expect(result).toMatchObject({ expiryAsked: 86_400 });
      const data = layouts[world.devChain.profile(version).layout].sponsorship.decode(
        result?.['paymasterAndData'] as Hex,
      );
      expect(data.validUntil).toBe(result?.['validUntil']);
      expect(data.validUntil).toBeLessThanOrEqual(Math.floor(Date.now() / 1000) + 600);
    });

    test('control: an ordinary operation, at the cap of the fee, is sponsored and mined', async () => {
      const { devChain } = world;
      const account = await buildAccount(devChain, devChain.profile(version).entryPointVersion);
      const op = await buildUserOp(account, [increment()], { maxFeePerGas: fee });
      const answer = await ask(op);
      expect(reasonOf(answer)).toBeUndefined();
      const { result } = answer;
      const signed = await signByAccount(account, op, result?.['paymasterAndData'] as Hex);
      const { event } = await handleOp(devChain, devChain.profile(version).entryPointVersion, signed);
      expect(event.success).toBe(true);
    });

    test('control: an ordinary payment in tokens is signed and mined', async () => {
      const payers = tokenPayers(world.devChain, version, urlOf());
      expect((await payers.pay(await payers.newAccount())).success).toBe(true);
    });

    async function anOperation(overrides: Partial<FinalUserOperation>): Promise<FinalUserOperation> {
      const { devChain } = world;
      const account = await buildAccount(devChain, devChain.profile(version).entryPointVersion);
      return buildUserOp(account, [increment()], overrides);
    }

    function ask(op: FinalUserOperation, mode: object = { mode: 'SPONSORED' }): Promise<RpcAnswer> {
      return rpc(urlOf(), 'pm_sponsorUserOperation', [toWire(op), mode]);
    }

    function urlOf(): string {
      return urls.get(version) ?? '';
    }
  });

  function increment() {
    const to = world.devChain.deployments.sponsoredContract.address;
    return { to, data: encodeWith(counter, 'increment', []) };
  }

  function inTokens(): object {
    return { mode: 'ERC20', tokenInfo: { feeTokenAddress: world.devChain.deployments.feeToken.address } };
  }
});

function reasonOf({ result, error }: RpcAnswer): unknown {
  return result?.['reason'] ?? error?.data?.['reason'];
}
