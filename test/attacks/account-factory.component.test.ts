import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { parseAddress } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { describeDevChain } from '../../standalone/dev-chain/deployments.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { asHex, buildAccount, encodeWith, type TestAccount } from '../chain/support/account.js';
import { handleOp } from '../chain/support/handle-ops.js';
import { buildUserOp, signByAccount, sponsorUserOp } from '../chain/support/user-op.js';
import { rpc, toWire, type RpcAnswer } from '../system/support/client.js';
import { onOneProcess } from './support/stores.js';
import { startWorld, type World } from './support/world.js';
import { newWallet } from '../support/new-wallet.js';

// An attacker's factory makes the account as the known one does, but first writes its own storage slots: with each new sender
// the sponsor pays for them, although the only call of the operation is a whitelisted one.

const version = 'singleton-0.7';
const counter = new Interface(['function increment()']);
const slots = 25;
const evilFactory = parseAddress('0xBadBadbadbadBadBadBADBadBadbAdBaDBaDBaDb');

let world: World;
let url: string;
describe.each(onOneProcess)('on %s', (store) => {
  beforeAll(async () => {
    const { factories } = describeDevChain(31_337, devAccounts.signer.address, devAccounts.deployer.address);
    world = await startWorld(store, { accountFactories: Object.values(factories) });
    await world.devChain.chain.request('anvil_setCode', [evilFactory, evilCode(factories['0.7'])]);
    url = await world.paymaster(version);
  });
  afterAll(() => world.stop());

  describe('with accountFactories on the Chain', () => {
    test('the factory of an attacker is refused in both modes', async () => {
      const { op } = await operation(withFactory(await newAccount(), evilFactory));
      const refused = await ask(op, { mode: 'SPONSORED' });
      expect(refused.result).toMatchObject({ paymasterAndData: '0x', reason: 'FACTORY_NOT_ALLOWED' });
      const tokenInfo = { feeTokenAddress: world.devChain.deployments.feeToken.address };
      expect((await ask(op, { mode: 'ERC20', tokenInfo })).error?.data).toMatchObject({
        reason: 'FACTORY_NOT_ALLOWED',
      });
    });

    test('a Paymaster cannot add a factory to those of the Chain', async () => {
      const own = await world.paymaster(version, { accountFactories: [evilFactory] });
      const { op } = await operation(withFactory(await newAccount(), evilFactory));
      expect((await ask(op, { mode: 'SPONSORED' }, own)).result?.['reason']).toBe('FACTORY_NOT_ALLOWED');
    });

    test('a Paymaster can allow no factory at all', async () => {
      const own = await world.paymaster(version, { accountFactories: [] });
      const { op } = await operation(await newAccount());
      expect((await ask(op, { mode: 'SPONSORED' }, own)).result?.['reason']).toBe('FACTORY_NOT_ALLOWED');
    });

    test('control: a listed factory makes an account that executes in the same sponsored operation', async () => {
      const { account, op } = await operation(await newAccount());
      const { result } = await ask(op, { mode: 'SPONSORED' });
      expect(result?.['reason']).toBeUndefined();
      const signed = await signByAccount(account, op, asHex(String(result?.['paymasterAndData'])));
      const { event } = await handleOp(world.devChain, '0.7', signed);
      expect(event).toMatchObject({ success: true, sender: account.address });
    });

    // Last: nobody has promised this operation, so the contract signs nothing more once the service has seen it.
    test('the refused operation would have written storage at the cost of the sponsor', async () => {
      const honest = await mine(await newAccount());
      const attack = await mine(withFactory(await newAccount(), evilFactory));
      // A new slot costs 22,100 gas; how much of it counts depends on the other gas that is left unused.
      expect(attack - honest).toBeGreaterThan(BigInt(slots) * 20_000n);
    });
  });
});
function newAccount(): Promise<TestAccount> {
  return buildAccount(world.devChain, '0.7', newWallet());
}

/** The same account, made by another factory. */
function withFactory(account: TestAccount, factory: string): TestAccount {
  return {
    ...account,
    initCode: async () => `0x${factory.slice(2).toLowerCase()}${(await account.initCode()).slice(42)}`,
  };
}

async function operation(account: TestAccount) {
  const to = world.devChain.deployments.sponsoredContract.address;
  const calls = [{ to, data: encodeWith(counter, 'increment', []) }];
  const op = await buildUserOp(account, calls, { verificationGasLimit: 950_000n });
  return { account, op };
}

/** Signed with the platform's key past the service; resolves with the gas that the contract paid for. */
async function mine(account: TestAccount): Promise<bigint> {
  const { op } = await operation(account);
  const profile = world.devChain.profile(version);
  const signed = await sponsorUserOp(world.devChain, profile, account, op);
  return (await handleOp(world.devChain, '0.7', signed)).event.actualGasUsed;
}

function ask(op: FinalUserOperation, mode: object, at = url): Promise<RpcAnswer> {
  return rpc(at, 'pm_sponsorUserOperation', [toWire(op), mode]);
}

/**
 * Writes `slots` slots whose keys are the gas that is left, then passes the call data on to the factory and its answer back:
 * n; loop: sstore(gas, n); n -= 1; jumpi(loop, n); call(factory, calldata); return 32 bytes.
 */
function evilCode(factory: string): Hex {
  const count = slots.toString(16).padStart(2, '0');
  return asHex(
    `0x60${count}5b805a55600190038060025750366000600037602060003660006000` +
      `73${factory.slice(2).toLowerCase()}5af15060206000f3`,
  );
}
