import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface, id } from 'ethers';
import { createGasEstimator } from '../../adapters/estimator/estimator.js';
import { isDomainError } from '../../core/errors.js';
import { eip7702Factory } from '../../core/entry-point/eip-7702.js';
import { unusedGasFine } from '../../core/entry-point/gas.js';
import type { EntryPointVersion } from '../../core/entry-point/version.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { silentLogger } from '../../core/log.js';
import { parseAddress, toAddressKey } from '../../core/units/address.js';
import { systemClock } from '../../core/units/time.js';
import type { GasEstimator } from '../../core/userop/estimator.js';
import { parseEther } from '../../core/units/wei.js';
import { simple7702Account09 } from '../../standalone/dev-chain/canonical.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { defaultLimits } from '../build/default-limits.js';
import { asHex, buildAccount, encodeWith, type TestAccount } from './support/account.js';
import { sendWithAuthorization } from './support/authorization.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { encodeHandleOps, handleOp } from './support/handle-ops.js';
import { buildUserOp, type SignedUserOp } from './support/user-op.js';
import { revertTo } from './support/revert-to.js';
import { newWallet } from '../support/new-wallet.js';

// What is new in EntryPoint 0.9, through its canonical bytecode, with accounts that pay for themselves.

const counter = new Interface([
  'function increment()',
  'function counts(address account) view returns (uint256)',
]);

const stakeManager = new Interface(['function depositTo(address account) payable']);

let devChain: DevChain;
let estimator: GasEstimator;
beforeAll(async () => {
  devChain = await startDevChain();
  estimator = createGasEstimator({
    chains: devChain.chains,
    endpoint: () => ({ rpc: { urls: [devChain.url] } }),
    clock: systemClock,
    log: silentLogger,
  });
});
afterAll(() => devChain.stop());

describe('an account that exists, with the initCode that deployed it', () => {
  test('is estimated and mined on 0.9, which ignores the initCode', async () => {
    const { account, op } = await existing('0.9');
    const estimate = await estimator.estimate(request('0.9', op));
    expect(estimate.reverted).toBeUndefined();
    const { event, logs } = await handleOp(devChain, '0.9', await signed(account, { ...op, ...estimate }));
    expect(event).toMatchObject({ success: true, sender: account.address });
    const topics = logs.map((log) => log.topics[0]);
    expect(topics).toContain(id('IgnoredInitCode(bytes32,address,address)'));
    expect(await countOf(account.address)).toBe(2n);
  });

  test('is refused on 0.8, with what to do', async () => {
    const { op } = await existing('0.8');
    const error = await estimator.estimate(request('0.8', op)).catch((thrown: unknown) => thrown);
    if (!isDomainError(error, 'ESTIMATION_FAILED')) throw error;
    expect(error.message).toBe('gas estimation failed: AA10 sender already constructed');
    expect(error.details.remedy).toMatch(/^The account exists already: leave out initCode/);
  });
});

test('a plain key delegates and acts in one bundle', async () => {
  const owner = newWallet();
  const delegate = simple7702Account09;
  const account: TestAccount = {
    ...(await buildAccount(devChain, '0.9', owner)),
    address: toAddressKey(parseAddress(owner.address)),
    initCode: () => Promise.resolve(eip7702Factory),
    nonce: () => Promise.resolve(0n),
  };
  await deposit('0.9', account);
  const authorization = await owner.authorize({ address: delegate, chainId: devChain.chainId, nonce: 0 });
  const { r, s, yParity } = authorization.signature;
  const eip7702Auth = {
    address: toAddressKey(delegate),
    chainId: BigInt(devChain.chainId),
    nonce: 0n,
    r: asHex(r),
    s: asHex(s),
    yParity,
  };
  const op = { ...(await buildUserOp(account, [increment()])), eip7702Auth };
  const estimate = await estimator.estimate(request('0.9', op));
  await sendWithAuthorization(devChain, devAccounts.deployer.privateKey, {
    to: devChain.deployments.entryPoints['0.9'],
    data: encodeHandleOps('0.9', [await signed(account, { ...op, ...estimate })]),
    authorization,
  });
  expect(await countOf(account.address)).toBe(1n);
});

test('the fine for unused gas is what we compute', async () => {
  const { account, op } = await existing('0.9');
  const usedWith = async (callGasLimit: bigint): Promise<bigint> => {
    const snapshot = await devChain.chain.request('evm_snapshot', []);
    const { event } = await handleOp(devChain, '0.9', await signed(account, { ...op, callGasLimit }));
    await revertTo(devChain.chain, snapshot);
    return event.actualGasUsed;
  };
  const [less, more] = [await usedWith(300_000n), await usedWith(1_200_000n)];
  // The call uses less than 100,000 of either.
  expect(more - less).toBe(unusedGasFine(1_100_000n, 0n, '0.9') - unusedGasFine(200_000n, 0n, '0.9'));
});

/** An account that has counted once, and the next operation with the initCode of the first. */
async function existing(
  version: EntryPointVersion,
): Promise<{ account: TestAccount; op: FinalUserOperation }> {
  const account = await buildAccount(devChain, version);
  await deposit(version, account);
  const first = await buildUserOp(account, [increment()]);
  await handleOp(devChain, version, await signed(account, first));
  return { account, op: { ...first, nonce: first.nonce + 1n } };
}

/** As in estimates: the account has a deposit, so that its validation pays nothing. */
async function deposit(version: EntryPointVersion, account: TestAccount): Promise<void> {
  await devChain.transactor.send('deposit', {
    to: devChain.deployments.entryPoints[version],
    data: encodeWith(stakeManager, 'depositTo', [account.address]),
    value: parseEther('1'),
  });
}

async function signed(account: TestAccount, op: FinalUserOperation): Promise<SignedUserOp> {
  return { op: { ...op, signature: await account.sign(op, '0x') }, paymasterAndData: '0x' };
}

function request(entryPointVersion: EntryPointVersion, op: FinalUserOperation) {
  return {
    paymasterId: 'pm-1',
    chainId: devChain.chainId,
    entryPoint: devChain.deployments.entryPoints[entryPointVersion],
    entryPointVersion,
    op,
    paymasterAndData: undefined,
    minVerificationGasLimit: 0n,
    most: defaultLimits,
  };
}

function increment() {
  return { to: devChain.deployments.sponsoredContract.address, data: encodeWith(counter, 'increment', []) };
}

async function countOf(account: string): Promise<bigint> {
  const data = encodeWith(counter, 'counts', [account]);
  return BigInt(await devChain.chain.call({ to: devChain.deployments.sponsoredContract.address, data }));
}
