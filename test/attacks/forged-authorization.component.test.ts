import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface, type Wallet, type Authorization } from 'ethers';
import { parseAddress, toAddressKey, type Address } from '../../core/units/address.js';
import { renderUserOperation } from '../../core/userop/render.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { asHex, buildAccount, encodeWith, type TestAccount } from '../chain/support/account.js';
import { sendWithAuthorization } from '../chain/support/authorization.js';
import { encodeHandleOps } from '../chain/support/handle-ops.js';
import { buildUserOp, signByAccount } from '../chain/support/user-op.js';
import { rpc, type RpcAnswer } from '../system/support/client.js';
import { onOneProcess } from './support/stores.js';
import { startWorld, type World } from './support/world.js';
import { newWallet } from '../support/new-wallet.js';

// An EIP-7702 operation carries an authorization that the sender has not signed. The paymaster's signature does not cover it, and
// the chain ignores it: the simulation runs the delegate's code, the mined operation would not.

const version = 'singleton-0.8';
const counter = new Interface([
  'function increment()',
  'function counts(address account) view returns (uint256)',
]);

let world: World;
let url: string;
let delegate: Address;
describe.each(onOneProcess)('on %s', (store) => {
  beforeAll(async () => {
    world = await startWorld(store);
    url = await world.paymaster(version);
    delegate = parseAddress(String(world.devChain.deployments.delegates[0]));
  });
  afterAll(() => world.stop());

  describe('an authorization that the sender has not signed', () => {
    test('is ignored by the chain', async () => {
      const victim = newKey();
      const forged = { ...authorize(victim), signature: authorize(newKey()).signature };
      await sendWithAuthorization(world.devChain, devAccounts.deployer.privateKey, {
        to: parseAddress(victim.address),
        data: '0x',
        authorization: forged,
      });
      expect(await world.devChain.chain.code(victim.address)).toBe('0x');
    });

    test.each([
      { name: 'r and s of 1', forge: { r: `0x${'0'.repeat(63)}1`, s: `0x${'0'.repeat(63)}1` } },
      { name: 'the signature of another key', forge: undefined },
    ])('is refused, with limits given and without: $name', async ({ forge }) => {
      const owner = newKey();
      const { r, s } = forge ?? authorize(newKey()).signature;
      const op = await operation(owner, { r: asHex(r), s: asHex(s) });
      for (const wire of [renderUserOperation(op, '0.8'), withoutLimits(op)]) {
        const { result } = await ask(wire);
        expect(result).toMatchObject({ paymasterAndData: '0x', reason: 'AUTHORIZATION_INVALID' });
      }
    });

    test('one that is signed for a nonce that is not the next is refused where the operation is simulated', async () => {
      const owner = newKey();
      const op = await operation(owner, {}, 7);
      const { error } = await ask(withoutLimits(op));
      expect(error).toMatchObject({ code: -32004 });
      expect(error?.message).toMatch(/nonce 7 of its signer, whose next is 0/);
    });

    test('control: a key that signs its authorization delegates and executes in one sponsored bundle', async () => {
      const owner = newKey();
      const asked = await operation(owner);
      const { result } = await ask(withoutLimits(asked));
      expect(result?.['reason']).toBeUndefined();
      const limits = ['callGasLimit', 'verificationGasLimit', 'preVerificationGas'] as const;
      const op = {
        ...asked,
        ...Object.fromEntries(limits.map((name) => [name, BigInt(String(result?.[name]))])),
      };
      const signed = await signByAccount(
        await accountOf(owner),
        op,
        asHex(String(result?.['paymasterAndData'])),
      );
      await sendWithAuthorization(world.devChain, devAccounts.deployer.privateKey, {
        to: world.devChain.profile(version).entryPoint,
        data: encodeHandleOps('0.8', [signed]),
        authorization: authorize(owner),
      });
      expect(await countOf(owner)).toBe(1n);
    });
  });
});
function newKey(): Wallet {
  return newWallet();
}

function authorize(owner: Wallet, nonce = 0): Authorization {
  return owner.authorizeSync({ address: delegate, chainId: world.devChain.chainId, nonce });
}

async function accountOf(owner: Wallet): Promise<TestAccount> {
  return {
    ...(await buildAccount(world.devChain, '0.8', owner)),
    address: toAddressKey(parseAddress(owner.address)),
    // The short form of the marker, which is what the request has: contracts hash these bytes.
    initCode: () => Promise.resolve('0x7702'),
    nonce: () => Promise.resolve(0n),
  };
}

async function operation(owner: Wallet, forged: object = {}, nonce = 0): Promise<FinalUserOperation> {
  const to = world.devChain.deployments.sponsoredContract.address;
  const calls = [{ to, data: encodeWith(counter, 'increment', []) }];
  const { r, s, yParity } = authorize(owner, nonce).signature;
  const eip7702Auth = {
    address: toAddressKey(delegate),
    chainId: BigInt(world.devChain.chainId),
    nonce: BigInt(nonce),
    r: asHex(r),
    s: asHex(s),
    yParity,
    ...forged,
  };
  return { ...(await buildUserOp(await accountOf(owner), calls)), eip7702Auth };
}

function withoutLimits(op: FinalUserOperation): object {
  const unknown = { callGasLimit: undefined, verificationGasLimit: undefined, preVerificationGas: undefined };
  return renderUserOperation({ ...op, ...unknown }, '0.8');
}

function ask(wire: object): Promise<RpcAnswer> {
  return rpc(url, 'pm_sponsorUserOperation', [wire, { mode: 'SPONSORED' }]);
}

async function countOf({ address }: Wallet): Promise<bigint> {
  const data = encodeWith(counter, 'counts', [address]);
  return BigInt(
    await world.devChain.chain.call({ to: world.devChain.deployments.sponsoredContract.address, data }),
  );
}
