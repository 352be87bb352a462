import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import type { Hex } from '../../core/units/hex.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { buildAccount, encodeWith, type Call } from '../chain/support/account.js';
import { handleOp } from '../chain/support/handle-ops.js';
import { buildUserOp, signByAccount, sponsorUserOp } from '../chain/support/user-op.js';
import { rpc, toWire, type RpcAnswer } from '../system/support/client.js';
import { onOneProcess } from './support/stores.js';
import { startWorld, type World } from './support/world.js';

// From EntryPoint 0.7 on a tenth of unused call gas is paid to the bundler. An attacker gives a callGasLimit of 10 M for a call
// that needs 50,000, and mines the operation himself.

const counter = new Interface(['function increment()', 'function burn(uint256 rounds)']);
const versions = ['2.0.0', 'singleton-0.7', 'singleton-0.8', 'verifying-0.7'] as const;
const greedy = { callGasLimit: 10_000_000n };

let world: World;
const urls = new Map<string, string>();
describe.each(onOneProcess)('on %s', (store) => {
  beforeAll(async () => {
    world = await startWorld(store);
    for (const version of versions) urls.set(version, await world.paymaster(version));
  });
  afterAll(() => world.stop());

  describe.each(versions)('version %s', (version) => {
    test('10 M gas for a call that needs 50,000 is refused with the figures, in every way of asking', async () => {
      const { op } = await operation('increment', greedy);
      const modes = version === 'verifying-0.7' ? [sponsored] : [sponsored, inTokens()];
      for (const mode of modes) {
        expect(reasonOf(await ask('pm_sponsorUserOperation', [toWire(op), mode]))).toBe('GAS_LIMIT_TOO_HIGH');
        const explained = await explain(op, mode);
        expect(explained).toMatchObject({
          sponsored: false,
          reason: 'GAS_LIMIT_TOO_HIGH',
          gas: { estimated: false, maxUnusedGasFee: '0.001' },
        });
        expect(JSON.stringify(explained)).toMatch(/callGasLimit is 10000000 gas, the call needs \d{5,6}: /);
      }
      const { entryPoint } = world.devChain.profile(version);
      const erc7677 = [toWire(op), entryPoint, `0x${world.devChain.chainId.toString(16)}`, null];
      expect(reasonOf(await ask('pm_getPaymasterData', erc7677))).toBe('GAS_LIMIT_TOO_HIGH');
    });

    test('10 M gas for a call that fails is refused', async () => {
      // The method takes no coins, and the account has none.
      const { op } = await operation('increment', greedy, 0n, 1n);
      expect(reasonOf(await ask('pm_sponsorUserOperation', [toWire(op), sponsored]))).toBe(
        'EXECUTION_REVERTS',
      );
    });

    test('control: an ordinary limit is signed and mined', async () => {
      await sponsorAndMine('increment', { callGasLimit: 200_000n });
    });

    test("control: a call that needs 2 M gas is signed with its wallet's margin, at a fee at which unused gas is checked", async () => {
      await sponsorAndMine('burn', { callGasLimit: 3_000_000n, maxFeePerGas: 10_000_000_000n }, 90n);
    });

    async function sponsorAndMine(
      method: 'increment' | 'burn',
      overrides: Partial<FinalUserOperation>,
      rounds = 0n,
    ): Promise<void> {
      const { account, op } = await operation(method, overrides, rounds);
      const answer = await ask('pm_sponsorUserOperation', [toWire(op), sponsored]);
      expect(reasonOf(answer)).toBeUndefined();
      expect(answer.result).toMatchObject({ callGasLimit: Number(op.callGasLimit) });
      const signed = await signByAccount(account, op, answer.result?.['paymasterAndData'] as Hex);
      const { event } = await handleOp(
        world.devChain,
        world.devChain.profile(version).entryPointVersion,
        signed,
      );
      expect(event.success).toBe(true);
    }

    async function operation(
      method: 'increment' | 'burn',
      overrides: Partial<FinalUserOperation>,
      rounds = 0n,
      value = 0n,
    ) {
      const account = await buildAccount(world.devChain, world.devChain.profile(version).entryPointVersion);
      const call: Call = {
        to: world.devChain.deployments.sponsoredContract.address,
        value,
        data: encodeWith(counter, method, method === 'burn' ? [rounds] : []),
      };
      return { account, op: await buildUserOp(account, [call], overrides) };
    }

    function ask(method: string, params: readonly unknown[]): Promise<RpcAnswer> {
      return rpc(urls.get(version) ?? '', method, params);
    }

    async function explain(op: FinalUserOperation, mode: object): Promise<unknown> {
      const response = await fetch(urls.get(version) ?? '', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authToken: world.authToken,
          connection: 'close',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'pm_explainSponsorship',
          params: [toWire(op), mode],
        }),
      });
      return ((await response.json()) as RpcAnswer).result;
    }

    // Last: nobody has promised this operation, so the contract signs nothing more once the service has seen it.
    test('what is refused would have cost about a million gas more than the call', async () => {
      const { devChain } = world;
      const profile = devChain.profile(version);
      const { account, op } = await operation('increment', greedy);
      // Signed with the platform's key past the service: this is what the contract would have paid.
      const { event } = await handleOp(
        devChain,
        profile.entryPointVersion,
        await sponsorUserOp(devChain, profile, account, op),
      );
      expect(event.actualGasUsed).toBeGreaterThan(990_000n);
    });
  });
});
const sponsored = { mode: 'SPONSORED' };

function inTokens(): object {
  return { mode: 'ERC20', tokenInfo: { feeTokenAddress: world.devChain.deployments.feeToken.address } };
}

function reasonOf({ result, error }: RpcAnswer): unknown {
  return result?.['reason'] ?? error?.data?.['reason'];
}
