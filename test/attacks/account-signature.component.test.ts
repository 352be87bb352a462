import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface, type Wallet, type Authorization } from 'ethers';
import { entryPoint09 } from '../../core/entry-point/v09.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { parseAddress, toAddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import { renderUserOperation } from '../../core/userop/render.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { asHex, buildAccount, encodeWith, type TestAccount } from '../chain/support/account.js';
import { sendWithAuthorization } from '../chain/support/authorization.js';
import { encodeHandleOps, handleOp } from '../chain/support/handle-ops.js';
import { buildUserOp } from '../chain/support/user-op.js';
import { approval, mint, transfer } from '../chain/support/tokens.js';
import { rpc, type RpcAnswer } from '../system/support/client.js';
import {
  askedFor,
  dataOf,
  placeholder,
  signatureOf,
  withSignature,
  type Fields,
  type Form,
} from '../system/support/signing-phases.js';
import { onOneProcess } from './support/stores.js';
import { sendAs } from '../chain/support/send-as.js';
import { aDeployedAccount } from './support/wallet.js';
import { startWorld, type World } from './support/world.js';
import { newWallet } from '../support/new-wallet.js';

// A Paymaster that demands the account's signature signs in two phases. An attacker holds its key, and asks for operations that
// their accounts have not signed, in every order and with every change.

const version = 'verifying-0.9';
const erc20 = new Interface(['function balanceOf(address account) view returns (uint256)']);
const counter = new Interface([
  'function increment()',
  'function counts(address account) view returns (uint256)',
]);
let world: World;
let url: string;

describe.each(onOneProcess)('on %s', (store) => {
  beforeAll(async () => {
    world = await startWorld(store);
    url = await world.paymaster(version, { requireAccountSignature: true });
  });
  afterAll(() => world.stop());

  test('our hybrid contract and an EIP-7702 account: signed last, mined through its authorization', async () => {
    const hybrid = await world.paymaster('hybrid-0.9', { requireAccountSignature: true });
    const owner = newWallet();
    const delegate = parseAddress(String(world.devChain.deployments.delegates[1]));
    const authorization = owner.authorizeSync({
      address: delegate,
      chainId: world.devChain.chainId,
      nonce: 0,
    });
    const { account, op } = await delegated(owner, authorization);
    const committed = await commit(op, 'field', { at: hybrid });
    const signed = await signedBy(account, op, committed, 'field');
    // The same operation with another authorization is not the committed one.
    const { s: _, ...rest } = op.eip7702Auth!;
    const other = { ...signed, eip7702Auth: { ...rest, s: asHex(`0x${'1'.repeat(64)}`) } };
    expect((await finalize(other, committed, { at: hybrid })).result).toBeUndefined();
    const { result } = await finalize(signed, committed, { at: hybrid });
    const paymasterAndData = withSignature(committed, 'field', signatureOf(result, 'field'));
    await sendWithAuthorization(world.devChain, devAccounts.deployer.privateKey, {
      to: entryPoint09.address,
      data: encodeHandleOps('0.9', [{ op: signed, paymasterAndData }]),
      authorization,
    });
    const data = encodeWith(counter, 'counts', [owner.address]);
    const { address } = world.devChain.deployments.sponsoredContract;
    expect(BigInt(await world.devChain.chain.call({ to: address, data }))).toBe(1n);
  });

  test('versions whose contract cannot sign last say so, and sign as before', async () => {
    const old = await world.paymaster('verifying-0.7');
    const account = await buildAccount(world.devChain, '0.7');
    const { address } = world.devChain.deployments.sponsoredContract;
    const call = { to: address, data: encodeWith(counter, 'increment', []) };
    const wire = renderUserOperation(await buildUserOp(account, [call]), '0.7');
    const { entryPoint } = world.devChain.profile('verifying-0.7');
    const ask = (context: object) =>
      rpc(old, 'pm_getPaymasterData', [wire, entryPoint, world.devChain.chainId, context]);
    const { error } = await ask({ signingPhase: 'commit' });
    expect(error).toMatchObject({ code: -32602 });
    expect(error?.message).toMatch(/params\[3\]\.signingPhase must be left out: the contract of version/);
    expect((await ask({})).error).toBeUndefined();
  });

  describe('paid in tokens', () => {
    const plenty = 10n ** 12n;
    let asked: { readonly at: string; readonly context: object };
    beforeAll(async () => {
      const token = world.devChain.deployments.feeToken.address;
      asked = {
        at: await world.paymaster('hybrid-0.9', { requireAccountSignature: true }),
        context: { token },
      };
    });

    /** An account that pays after its call, whose first call is the approval, or that has allowed it before. */
    async function payer(isAllowed: boolean): Promise<{ account: TestAccount; op: FinalUserOperation }> {
      const { address: token } = world.devChain.deployments.feeToken;
      const account = await aDeployedAccount(world.devChain, 'hybrid-0.9');
      await mint(world.devChain, token, account.address, plenty);
      const approve = approval(token, world.devChain.profile('hybrid-0.9'), plenty);
      if (isAllowed) await sendAs(world.devChain, account.address, approve);
      const { address } = world.devChain.deployments.sponsoredContract;
      const call = { to: address, data: encodeWith(counter, 'increment', []) };
      return { account, op: await buildUserOp(account, isAllowed ? [call] : [approve, call]) };
    }

    test.each([false, true])('signed last, and mined (allowed before: %s)', async (isAllowed) => {
      const { account, op } = await payer(isAllowed);
      const committed = await commit(op, 'joined', asked);
      const signed = await signedBy(account, op, committed, 'joined');
      const { result } = await finalize(signed, committed, asked);
      expect((await finalize(signed, committed, asked)).result).toEqual(result);
      const paymasterAndData = withSignature(committed, 'joined', signatureOf(result, 'joined'));
      const { event } = await handleOp(world.devChain, '0.9', { op: signed, paymasterAndData });
      expect(event.success).toBe(true);
      const { address: token } = world.devChain.deployments.feeToken;
      const balance = { to: token, data: encodeWith(erc20, 'balanceOf', [account.address]) };
      expect(BigInt(await world.devChain.chain.call(balance))).toBeLessThan(plenty);
    });

    test.each([
      { isAllowed: false, what: 'moved its tokens', reason: 'TOKEN_BALANCE' },
      { isAllowed: true, what: 'moved its tokens', reason: 'TOKEN_BALANCE' },
      { isAllowed: true, what: 'taken back its allowance', reason: 'TOKEN_ALLOWANCE' },
    ])(
      'an account (allowed before: $isAllowed) that has $what since the commit gets no signature',
      async ({ isAllowed, what, reason }) => {
        const { account, op } = await payer(isAllowed);
        const { devChain } = world;
        const { address: token } = devChain.deployments.feeToken;
        const committed = await commit(op, 'field', asked);
        const signed = await signedBy(account, op, committed, 'field');
        await sendAs(
          devChain,
          account.address,
          what === 'moved its tokens'
            ? transfer(token, devChain.deployments.treasury, plenty)
            : approval(token, devChain.profile('hybrid-0.9'), 0n),
        );
        const answer = await finalize(signed, committed, asked);
        expect(answer.result).toBeUndefined();
        expect(reasonOf(answer)).toBe(reason);
        // With its tokens it may still finalize: the commit is open.
        await mint(devChain, token, account.address, plenty);
        if (what !== 'moved its tokens')
          await sendAs(devChain, account.address, approval(token, devChain.profile('hybrid-0.9'), plenty));
        expect(reasonOf(await finalize(signed, committed, asked))).toBeUndefined();
      },
    );

    test('a signature of another key, at once, or for data that were edited since, is never answered', async () => {
      const { account, op } = await payer(true);
      const committed = await commit(op, 'field', asked);
      const data = withSignature(committed, 'field', placeholder);
      const forged = { ...op, signature: await (await newAccount()).sign(op, data) };
      expect(reasonOf(await finalize(forged, committed, asked))).toBe('ACCOUNT_VALIDATION_FAILED');

      const wire = renderUserOperation(op, '0.9');
      const atOnce = await rpc(asked.at, 'pm_getPaymasterData', erc7677(wire, asked.context));
      expect(reasonOf(atOnce)).toBe('ACCOUNT_SIGNATURE_REQUIRED');

      // Bytes 33 to 64 of the data are the rate, byte 65 has the demand of a payment in validation.
      for (const [at, byte] of [
        [64, '01'],
        [65, '00'],
      ] as const) {
        const text = dataOf(committed, 'field');
        const edited = {
          ...committed,
          paymasterData: `${text.slice(0, 2 + 2 * at)}${byte}${text.slice(4 + 2 * at)}`,
        };
        expect(edited.paymasterData).not.toBe(text);
        const signed = await signedBy(account, op, edited, 'field');
        expect(reasonOf(await finalize(signed, edited, asked))).toBe('COMMIT_NOT_OPEN');
      }
    });
  });

  describe.each(['field', 'joined'] as const)('with the paymaster signature in the form "%s"', (form) => {
    test('commit, the signature of the account, and finalize: the operation is mined', async () => {
      const { account, op } = await operation();
      const committed = await commit(op, form);
      expect(signatureOf(committed, form)).toBe(placeholder);
      const signed = await signedBy(account, op, committed, form);
      const { result } = await finalize(signed, committed);
      const signature = signatureOf(result, form);
      expect(signature).toHaveLength(placeholder.length);
      expect(signature).not.toBe(placeholder);
      expect(dataOf(result, form)).toBe(dataOf(committed, form));
      const again = await finalize(signed, committed);
      expect(again.result).toEqual(result);
      const { event } = await handleOp(world.devChain, '0.9', {
        op: signed,
        paymasterAndData: withSignature(committed, form, signature),
      });
      expect(event.success).toBe(true);
    });

    test('the placeholder is worth nothing on chain', async () => {
      const { account, op } = await operation();
      const committed = await commit(op, form);
      const signed = await signedBy(account, op, committed, form);
      const paymasterAndData = withSignature(committed, form, placeholder);
      await expect(handleOp(world.devChain, '0.9', { op: signed, paymasterAndData })).rejects.toThrow(
        /AA34|revert/,
      );
    });
  });

  test('a signature at once is refused, by every method', async () => {
    const { op } = await operation();
    const wire = renderUserOperation(op, '0.9');
    for (const [method, params] of [
      ['pm_getPaymasterData', erc7677(wire, {})],
      ['pm_getPaymasterStubData', erc7677(wire, {})],
      ['pm_sponsorUserOperation', [wire, { mode: 'SPONSORED' }]],
      ['pm_sponsorUserOperation', [wire, entryPoint09.address, {}]],
      ['pm_getFeeQuoteOrData', [wire, { mode: 'SPONSORED' }]],
    ] as const)
      expect(reasonOf(await rpc(url, method, params))).toBe('ACCOUNT_SIGNATURE_REQUIRED');
  });

  test.each<{
    name: string;
    sign: (account: TestAccount, op: FinalUserOperation, data: Hex) => Promise<Hex>;
  }>([
    { name: 'of another key', sign: async (_, op, data) => (await newAccount()).sign(op, data) },
    {
      name: 'over other callData',
      sign: (account, op, data) => account.sign({ ...op, callData: '0x' }, data),
    },
    { name: 'over other fees', sign: (account, op, data) => account.sign({ ...op, maxFeePerGas: 1n }, data) },
    { name: 'of 65 zeros', sign: async () => `0x${'00'.repeat(65)}` },
    { name: 'that nobody made', sign: async () => placeholder },
    { name: 'of one byte', sign: async () => '0x01' },
  ])('a signature $name is never answered with one of the paymaster', async ({ sign }) => {
    const { account, op } = await operation();
    const committed = await commit(op, 'field');
    const data = withSignature(committed, 'field', placeholder);
    const signature = await sign(account, op, data);
    const answer = await finalize({ ...op, signature }, committed);
    expect(reasonOf(answer)).toBe('ACCOUNT_VALIDATION_FAILED');
    expect(answer.result).toBeUndefined();
    // The commit is still open for the account itself.
    const own = await finalize(await signedBy(account, op, committed, 'field'), committed);
    expect(reasonOf(own)).toBeUndefined();
  });

  test.each<{
    name: string;
    change: (op: FinalUserOperation, committed: Fields) => readonly [FinalUserOperation, Fields];
  }>([
    { name: 'callData', change: (op, data) => [{ ...op, callData: `${op.callData}00` }, data] },
    { name: 'nonce', change: (op, data) => [{ ...op, nonce: op.nonce + 1n }, data] },
    { name: 'callGasLimit', change: (op, data) => [{ ...op, callGasLimit: op.callGasLimit - 1n }, data] },
    { name: 'maxFeePerGas', change: (op, data) => [{ ...op, maxFeePerGas: op.maxFeePerGas - 1n }, data] },
    {
      name: 'paymasterData (a later end)',
      change: (op, data) => [op, { ...data, paymasterData: withLaterEnd(String(data['paymasterData'])) }],
    },
    {
      name: 'paymasterPostOpGasLimit',
      change: (op, data) => [op, { ...data, paymasterPostOpGasLimit: '0xffff' }],
    },
  ])('a finalize with another $name is refused, also when its account has signed it', async ({ change }) => {
    const { account, op } = await operation();
    const committed = await commit(op, 'field');
    const [other, fields] = change(op, committed);
    const signed = await signedBy(account, other, fields, 'field');
    const answer = await finalize(signed, fields);
    expect(answer.result).toBeUndefined();
    expect(reasonOf(answer)).toBe('COMMIT_NOT_OPEN');
  });

  test('a finalize without a commit is refused, with data that were committed for another operation too', async () => {
    const first = await operation();
    const second = await operation();
    const committed = await commit(first.op, 'field');
    const signed = await signedBy(second.account, second.op, committed, 'field');
    expect(reasonOf(await finalize(signed, committed))).toBe('COMMIT_NOT_OPEN');
  });

  test('a newer commit of the same account replaces the older one, also when somebody else asked for it', async () => {
    const { account, op } = await operation();
    const committed = await commit(op, 'field');
    await commit({ ...op, maxFeePerGas: op.maxFeePerGas - 1n }, 'field');
    const signed = await signedBy(account, op, committed, 'field');
    expect(reasonOf(await finalize(signed, committed))).toBe('COMMIT_NOT_OPEN');
    const next = await commit(op, 'field');
    expect(reasonOf(await finalize(await signedBy(account, op, next, 'field'), next))).toBeUndefined();
  });
});

/** Paymaster data whose first word, the end of their validity in seconds, is one more. */
function withLaterEnd(paymasterData: string): string {
  const end = BigInt(paymasterData.slice(0, 66)) + 1n;
  return `0x${end.toString(16).padStart(64, '0')}${paymasterData.slice(66)}`;
}

async function newAccount(): Promise<TestAccount> {
  return buildAccount(world.devChain, '0.9');
}

async function operation(): Promise<{ account: TestAccount; op: FinalUserOperation }> {
  const account = await newAccount();
  const { address } = world.devChain.deployments.sponsoredContract;
  const call = { to: address, data: encodeWith(counter, 'increment', []) };
  return { account, op: await buildUserOp(account, [call]) };
}

async function delegated(
  owner: Wallet,
  { signature: { r, s, yParity } }: Authorization,
): Promise<{ account: TestAccount; op: FinalUserOperation }> {
  const account: TestAccount = {
    ...(await buildAccount(world.devChain, '0.9', owner)),
    address: toAddressKey(parseAddress(owner.address)),
    // The marker as wallets send it, and as it is mined.
    initCode: () => Promise.resolve('0x7702'),
    nonce: () => Promise.resolve(0n),
  };
  const { address } = world.devChain.deployments.sponsoredContract;
  const call = { to: address, data: encodeWith(counter, 'increment', []) };
  const delegate = parseAddress(String(world.devChain.deployments.delegates[1]));
  const eip7702Auth = {
    address: toAddressKey(delegate),
    chainId: BigInt(world.devChain.chainId),
    nonce: 0n,
    r: asHex(r),
    s: asHex(s),
    yParity,
  };
  return { account, op: { ...(await buildUserOp(account, [call])), eip7702Auth } };
}

function erc7677(wire: object, context: object): readonly unknown[] {
  return [wire, entryPoint09.address, `0x${world.devChain.chainId.toString(16)}`, context];
}

type Asked = { readonly at?: string; readonly context?: object };

function phase(
  wire: object,
  signingPhase: 'commit' | 'finalize',
  { at = url, context = {} }: Asked = {},
): Promise<RpcAnswer> {
  return rpc(at, 'pm_getPaymasterData', erc7677(wire, { ...context, signingPhase }));
}

async function commit(op: FinalUserOperation, form: Form, asked?: Asked): Promise<Fields> {
  const wire = { ...renderUserOperation(op, '0.9'), ...askedFor(form, entryPoint09.address) };
  const answer = await phase(wire, 'commit', asked);
  expect(answer.error).toBeUndefined();
  return answer.result ?? {};
}

/** The operation with the fields of the commit, and the signature of the account. */
function finalize(op: FinalUserOperation, fields: Fields, asked?: Asked): Promise<RpcAnswer> {
  return phase({ ...renderUserOperation(op, '0.9'), ...fields, signature: op.signature }, 'finalize', asked);
}

async function signedBy(
  account: TestAccount,
  op: FinalUserOperation,
  fields: Fields,
  form: Form,
): Promise<FinalUserOperation> {
  const paymasterAndData = withSignature(fields, form, placeholder);
  return { ...op, signature: await account.sign(op, paymasterAndData) };
}

function reasonOf({ result, error }: RpcAnswer): string | undefined {
  const reason = error?.data?.['reason'] ?? result?.['reason'];
  return typeof reason === 'string' ? reason : error?.message;
}
