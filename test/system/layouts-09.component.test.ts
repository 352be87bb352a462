import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface, type Authorization } from 'ethers';
import { CallReverted } from '../../core/chain/chain.js';
import { eip7702Factory } from '../../core/entry-point/eip-7702.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { signatureToTail } from '../../core/paymaster/tail.js';
import { parseAddress, toAddressKey } from '../../core/units/address.js';
import { hexQuantity, type Hex } from '../../core/units/hex.js';
import { simple7702Account09 } from '../../standalone/dev-chain/canonical.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { startService, type Service } from '../attacks/support/service.js';
import { asHex, buildAccount, encodeWith, type Call, type TestAccount } from '../chain/support/account.js';
import { sendWithAuthorization } from '../chain/support/authorization.js';
import { balanceOf } from '../chain/support/balances.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { encodeHandleOps, formatFailure, handleOp, refusalOf } from '../chain/support/handle-ops.js';
import { deployOpenZeppelin } from '../chain/support/open-zeppelin.js';
import { approval, mint } from '../chain/support/tokens.js';
import { buildUserOp, signByAccount, type SignedUserOp } from '../chain/support/user-op.js';
import { until } from '../support/until.js';
import { rpc, toWire } from './support/client.js';
import {
  askedFor,
  dataOf,
  placeholder,
  signatureOf,
  withSignature,
  type Fields,
} from './support/signing-phases.js';
import { newWallet } from '../support/new-wallet.js';

// Every layout on EntryPoint 0.9, sponsored over HTTP and mined through the canonical bytecode.

const counter = new Interface([
  'function increment()',
  'function counts(address account) view returns (uint256)',
]);

type Row = { readonly version: string; readonly mode: 'SPONSORED' | 'ERC20'; readonly readsTail: boolean };
const rows: readonly Row[] = [
  { version: 'verifying-0.9', mode: 'SPONSORED', readsTail: true },
  { version: 'hybrid-0.9', mode: 'SPONSORED', readsTail: true },
  { version: 'hybrid-0.9', mode: 'ERC20', readsTail: true },
  { version: 'openzeppelin-0.9', mode: 'SPONSORED', readsTail: false },
  { version: 'openzeppelin-0.9 by delegate', mode: 'SPONSORED', readsTail: false },
  { version: 'openzeppelin-0.9 with tail', mode: 'SPONSORED', readsTail: true },
];
const versions = [...new Set(rows.map(({ version }) => version))];

let devChain: DevChain;
let service: Service;
const urls = new Map<string, string>();
beforeAll(async () => {
  const plain = await startDevChain();
  const openZeppelin = await deployOpenZeppelin(plain);
  devChain = { ...plain, profile: (version) => openZeppelin.get(version) ?? plain.profile(version) };
  service = await startService('the embedded store', {
    versions,
    devChain,
    // Payments that nobody mines must not fill it.
    profile: () => ({ tokenLossBudget: '100' }),
  });
  await service.changeChain((chain) => ({ ...chain, delegates: [simple7702Account09] }));
  for (const version of versions) {
    const paymasterId = version.replaceAll(' ', '-');
    urls.set(version, (await service.paymaster('team', { paymasterId, version })).url);
  }
});
afterAll(async () => {
  await service?.stop();
  await devChain?.stop();
});

describe.each(rows)('version $version, mode $mode', ({ version, mode, readsTail }) => {
  const forms = readsTail ? (['ordinary', 'in the tail'] as const) : (['ordinary'] as const);

  test.each(forms)('a signature that is %s: a new account', async (form) => {
    const account = await buildAccount(devChain, '0.9');
    const { op, signed } = await sponsored(account, form);
    expect(op.initCode).not.toBe('0x');
    await expectMined(account, signed, 1n);
  });

  test.each(forms)('a signature that is %s: an existing account with its old initCode', async (form) => {
    const account = await buildAccount(devChain, '0.9');
    const first = await sponsored(account, 'ordinary');
    await expectMined(account, first.signed, 1n);
    expect(await account.initCode()).toBe('0x');
    const { initCode } = first.op;
    const { op, signed } = await sponsored(account, form, { initCode });
    expect(op.initCode).toBe(initCode);
    await expectMined(account, signed, 2n);
  });

  test.each(forms)('a signature that is %s: an EIP-7702 account', async (form) => {
    const { account, eip7702Auth, authorization } = await plainKey();
    const { signed } = await sponsored(account, form, { eip7702Auth });
    await expectMined(account, signed, 1n, authorization);
  });

  test.each(forms)('a signature that is %s covers the operation', async (form) => {
    const account = await buildAccount(devChain, '0.9');
    const { op, signed } = await sponsored(account, form);
    const changes: readonly Partial<FinalUserOperation>[] = [
      { callData: '0x' },
      { initCode: `${op.initCode}00` },
      { callGasLimit: op.callGasLimit + 1n },
      { verificationGasLimit: op.verificationGasLimit + 1n },
      { preVerificationGas: op.preVerificationGas + 1n },
      { maxFeePerGas: op.maxFeePerGas + 1n },
      { maxPriorityFeePerGas: op.maxPriorityFeePerGas + 1n },
    ];
    for (const change of changes)
      expect([change, await refusalWith(account, { ...op, ...change }, signed.paymasterAndData)]).toEqual([
        change,
        'AA34 signature error',
      ]);
    expect(await refusalWith(account, op, signed.paymasterAndData)).toBe('accepted');
  });

  test.each(forms)('a signature that is %s covers every byte in front of it', async (form) => {
    const account = await buildAccount(devChain, '0.9');
    const { op, signed } = await sponsored(account, form);
    const data = signed.paymasterAndData;
    const signatureAt = data.length / 2 - 1 - 65 - (form === 'ordinary' ? 0 : 10);
    // Behind the address of the contract; the gas limits are bounded by their high bytes.
    for (let at = 20; at < signatureAt; at += 1) {
      const refusal = await refusalWith(account, op, flipped(data, at));
      expect([at, refusal]).toEqual([
        at,
        expect.stringMatching(/^AA(3[1-4]|94|95)|reverted|overflow|custom/),
      ]);
    }
  });

  test.each(forms)('a signature that is %s is void once its window is over', async (form) => {
    const account = await buildAccount(devChain, '0.9');
    const { op, signed } = await sponsored(account, form);
    const late = (await devChain.time()) + 3_600;
    expect(await refusalAt(late, signed)).toBe('AA32 paymaster expired or not due');
    expect(await refusalWith(account, op, signed.paymasterAndData)).toBe('accepted');
  });

  if (!readsTail)
    test('a signature in the tail is not read', async () => {
      const account = await buildAccount(devChain, '0.9');
      const { op, signed } = await sponsored(account, 'in the tail');
      expect(await refusalWith(account, op, signed.paymasterAndData)).toBe('AA34 signature error');
    });

  if (readsTail)
    test.each(['field', 'joined'] as const)(
      'signed after the account, the signature in the form "%s": mined',
      async (form) => {
        const account = await buildAccount(devChain, '0.9');
        const op = await operation(account);
        const { entryPoint } = devChain.profile(version);
        const ask = async (signingPhase: string, fields: Fields): Promise<Fields> => {
          const context = { ...payment(), signingPhase };
          const params = [{ ...wire(op), ...fields }, entryPoint, hexQuantity(devChain.chainId), context];
          const { result, error } = await rpc(urls.get(version)!, 'pm_getPaymasterData', params);
          if (result === undefined) throw new Error(`${signingPhase}: ${JSON.stringify(error)}`);
          return result;
        };
        const committed = await ask('commit', askedFor(form, entryPoint));
        expect(signatureOf(committed, form)).toBe(placeholder);
        const signature = await account.sign(op, withSignature(committed, form, placeholder));
        const final = await ask('finalize', { ...committed, signature });
        expect(dataOf(final, form)).toBe(dataOf(committed, form));
        const paymasterAndData = withSignature(committed, form, signatureOf(final, form));
        await expectMined(account, { op: { ...op, signature }, paymasterAndData }, 1n);
      },
    );

  /** The account's next increment; with the approval where it pays in tokens. */
  async function operation(
    account: TestAccount,
    change: Partial<FinalUserOperation> = {},
  ): Promise<FinalUserOperation> {
    const { feeToken } = devChain.deployments;
    const calls = [increment()];
    if (mode === 'ERC20') {
      await mint(devChain, feeToken.address, account.address, 10n ** 12n);
      calls.unshift(approval(feeToken.address, devChain.profile(version), 10n ** 12n));
    }
    return buildUserOp(account, calls, change);
  }

  function payment(): object {
    const { feeToken } = devChain.deployments;
    return mode === 'ERC20' ? { mode, tokenInfo: { feeTokenAddress: feeToken.address } } : { mode };
  }

  /** Asks the server to pay for one increment, and lets the account sign the answer in this form. */
  async function sponsored(
    account: TestAccount,
    form: 'ordinary' | 'in the tail',
    change: Partial<FinalUserOperation> = {},
  ): Promise<{ op: FinalUserOperation; signed: SignedUserOp }> {
    const op = await operation(account, change);
    const answer = await rpc(urls.get(version)!, 'pm_sponsorUserOperation', [wire(op), payment()]);
    const data = answer.result?.['paymasterAndData'];
    if (typeof data !== 'string' || data === '0x')
      throw new Error(`nothing was signed: ${JSON.stringify(answer)}`);
    const paymasterAndData = form === 'ordinary' ? asHex(data) : signatureToTail(asHex(data));
    return { op, signed: await signByAccount(account, op, paymasterAndData) };
  }

  async function expectMined(
    account: TestAccount,
    signed: SignedUserOp,
    count: bigint,
    authorization?: Authorization,
  ): Promise<void> {
    const { entryPoint, sponsorship } = devChain.profile(version);
    const before = await balanceOf(devChain, entryPoint, sponsorship);
    if (authorization === undefined)
      expect((await handleOp(devChain, '0.9', signed)).event).toMatchObject({ success: true });
    else
      await sendWithAuthorization(devChain, devAccounts.deployer.privateKey, {
        to: entryPoint,
        data: encodeHandleOps('0.9', [signed]),
        authorization,
      });
    expect(await countOf(account)).toBe(count);
    expect(await balanceOf(devChain, entryPoint, sponsorship)).toBeLessThan(before);
    // Otherwise the contract would stop signing: nobody here would have promised the operation.
    await until('the promise is settled', async () => {
      const live = await service.usage.reservations(devChain.chainId);
      return live.every(({ key }) => key.sender !== account.address);
    });
  }
});

async function refusalWith(account: TestAccount, op: FinalUserOperation, data: Hex): Promise<string> {
  return refusalOf(devChain, '0.9', [await signByAccount(account, op, data)]);
}

/** Why the EntryPoint refuses the operation in a block of that time, in Unix seconds. */
async function refusalAt(seconds: number, signed: SignedUserOp): Promise<string> {
  const to = devChain.deployments.entryPoints['0.9'];
  const call = { from: devAccounts.deployer.address, to, data: encodeHandleOps('0.9', [signed]) };
  try {
    await devChain.chain.request('eth_call', [call, 'latest', {}, { time: hexQuantity(seconds) }]);
    return 'accepted';
  } catch (error) {
    if (!(error instanceof CallReverted)) throw error;
    return formatFailure(error.data);
  }
}

/** A new key with its authorization of the delegate. */
async function plainKey() {
  const owner = newWallet();
  const account: TestAccount = {
    ...(await buildAccount(devChain, '0.9', owner)),
    address: toAddressKey(parseAddress(owner.address)),
    initCode: () => Promise.resolve(eip7702Factory),
    nonce: () => Promise.resolve(0n),
  };
  const { chainId } = devChain;
  const authorization = await owner.authorize({ address: simple7702Account09, chainId, nonce: 0 });
  const { r, s, yParity } = authorization.signature;
  const eip7702Auth = {
    address: toAddressKey(simple7702Account09),
    chainId: BigInt(chainId),
    nonce: 0n,
    r: asHex(r),
    s: asHex(s),
    yParity,
  };
  return { account, authorization, eip7702Auth };
}

/** As wallets send it, with the authorization where there is one. */
function wire(op: FinalUserOperation): Record<string, unknown> {
  const { eip7702Auth: auth } = op;
  if (auth === undefined) return toWire(op);
  const quantities = {
    chainId: hexQuantity(auth.chainId),
    nonce: hexQuantity(auth.nonce),
    yParity: hexQuantity(auth.yParity),
  };
  return { ...toWire(op), eip7702Auth: { ...auth, ...quantities } };
}

function flipped(data: Hex, at: number): Hex {
  const byte = Number.parseInt(data.slice(2 + 2 * at, 4 + 2 * at), 16) ^ 0x01;
  return `0x${data.slice(2, 2 + 2 * at)}${byte.toString(16).padStart(2, '0')}${data.slice(4 + 2 * at)}`;
}

function increment(): Call {
  return { to: devChain.deployments.sponsoredContract.address, data: encodeWith(counter, 'increment', []) };
}

async function countOf({ address }: TestAccount): Promise<bigint> {
  const data = encodeWith(counter, 'counts', [address]);
  return BigInt(await devChain.chain.call({ to: devChain.deployments.sponsoredContract.address, data }));
}
