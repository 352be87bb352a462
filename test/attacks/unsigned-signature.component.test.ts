import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import type { Hex } from '../../core/units/hex.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { buildAccount, encodeWith, type TestAccount } from '../chain/support/account.js';
import { handleOps, type Mined } from '../chain/support/handle-ops.js';
import { buildUserOp, signByAccount } from '../chain/support/user-op.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { rpc, toWire, type RpcAnswer } from '../system/support/client.js';
import { onOneProcess } from './support/stores.js';
import { startWorld, type World } from './support/world.js';

// No hash that a paymaster signs covers `signature`. An attacker sends 128 KiB of it, has as much preVerificationGas signed as
// such an operation is worth, mines it with an empty signature, and keeps the difference as his own bundler.

const counter = new Interface(['function increment()']);
const bloated: Hex = `0x${'ff'.repeat(131_072)}`;
/** An account that accepts every operation and does nothing: it answers every call with 32 zero bytes. */
const carelessCode: Hex = '0x600060005260206000f3';
/** The preVerificationGas that the default allows for any operation. */
const floor = 200_000n;
const versions = ['1.1.0', '2.0.0', 'singleton-0.6', 'singleton-0.7', 'singleton-0.8'] as const;

let world: World;
const urls = new Map<string, string>();
describe.each(onOneProcess)('on %s', (store) => {
  beforeAll(async () => {
    world = await startWorld(store);
    for (const version of versions) urls.set(version, await world.paymaster(version));
  });
  afterAll(() => world.stop());

  describe.each(versions)('version %s', (version) => {
    test('4,000,000 preVerificationGas for 128 KiB of signature are refused, in both modes', async () => {
      const op = await attackers({ preVerificationGas: 4_000_000n });
      expect(reasonOf(await ask(op))).toBe('GAS_LIMIT_TOO_HIGH');
      expect(reasonOf(await ask(op, inTokens()))).toBe('GAS_LIMIT_TOO_HIGH');
    });

    test('one gas above the floor is refused too: the signature does not raise the cap', async () => {
      const op = await attackers({ preVerificationGas: floor + 1n });
      expect(reasonOf(await ask(op))).toBe('GAS_LIMIT_TOO_HIGH');
    });

    test('it is not signed either when the request leaves the limits to us', async () => {
      const op = await attackers({ signature: `0x${'ff'.repeat(16_384)}` });
      const answer = await ask(op, { mode: 'SPONSORED', calculateGasLimits: true });
      expect(reasonOf(answer)).toBe('GAS_LIMIT_TOO_HIGH');
    });

    test('the most that is signed, mined with an empty signature, leaves a bundler less than the floor costs', async () => {
      const op = await attackers({ preVerificationGas: floor });
      const { result } = await ask(op);
      expect(result?.['paymasterAndData']).toMatch(/^0x..+/);
      const signed = { op: { ...op, signature: '0x' as const }, paymasterAndData: dataOf(result) };
      const { mined, profit } = await profitOf(() =>
        handleOps(world.devChain, entryPointVersion(), [signed]),
      );
      expect(mined.events).toHaveLength(1);
      expect(profit).toBeLessThan(floor * op.maxFeePerGas);
    });

    test('control: a signature of 2 KiB, as passkeys and multi-signature wallets have, is paid for', async () => {
      const op = await attackers({ signature: `0x${'ff'.repeat(2048)}` });
      const { result } = await ask(op, { mode: 'SPONSORED', calculateGasLimits: true });
      expect(result).toMatchObject({ mode: 'SPONSORED' });
      // 16 gas for each byte, which a bundler has to pay as well.
      expect(Number(result?.['preVerificationGas'])).toBeGreaterThan(2048 * 16);
    });

    test('control: an ordinary operation is sponsored and mined', async () => {
      const account = await buildAccount(world.devChain, entryPointVersion());
      const op = await buildUserOp(account, [increment()]);
      const { result } = await ask(op);
      const { mined } = await profitOf(async () =>
        handleOps(world.devChain, entryPointVersion(), [await signByAccount(account, op, dataOf(result))]),
      );
      expect(mined.events).toMatchObject([{ success: true }]);
    });

    /** The next operation of a new account that takes any signature. */
    async function attackers(overrides: Partial<FinalUserOperation>): Promise<FinalUserOperation> {
      const account: TestAccount = await buildAccount(world.devChain, entryPointVersion());
      await world.devChain.chain.request('anvil_setCode', [account.address, carelessCode]);
      return buildUserOp(account, [increment()], { signature: bloated, ...overrides });
    }

    function ask(op: FinalUserOperation, mode: object = { mode: 'SPONSORED' }): Promise<RpcAnswer> {
      const wire = { ...toWire(op), signature: op.signature };
      return rpc(urls.get(version) ?? '', 'pm_sponsorUserOperation', [wire, mode]);
    }

    function entryPointVersion() {
      return world.devChain.profile(version).entryPointVersion;
    }
  });
});
/** What the bundle's beneficiary gains, less what its sender pays: wei, negative when the attacker loses. */
async function profitOf(mine: () => Promise<Mined>): Promise<{ mined: Mined; profit: bigint }> {
  const before = await wealth();
  const mined = await mine();
  return { mined, profit: (await wealth()) - before };
}

async function wealth(): Promise<bigint> {
  const { chain } = world.devChain;
  const both = [devAccounts.deployer.address, devAccounts.treasury.address];
  const balances = await Promise.all(
    both.map(async (account) => BigInt(String(await chain.request('eth_getBalance', [account, 'latest'])))),
  );
  return balances.reduce((sum, balance) => sum + balance, 0n);
}

function increment() {
  const to = world.devChain.deployments.sponsoredContract.address;
  return { to, data: encodeWith(counter, 'increment', []) };
}

function inTokens(): object {
  return { mode: 'ERC20', tokenInfo: { feeTokenAddress: world.devChain.deployments.feeToken.address } };
}

function dataOf(result: RpcAnswer['result']): Hex {
  return result?.['paymasterAndData'] as Hex;
}

function reasonOf({ result, error }: RpcAnswer): unknown {
  return result?.['reason'] ?? error?.data?.['reason'];
}
