import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Interface, type Wallet } from 'ethers';
import { createGasEstimator } from '../../adapters/estimator/estimator.js';
import { silentLogger } from '../../core/log.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { stubSignature } from '../../core/paymaster/signature.js';
import { parseAddress, toAddressKey, type Address } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import { systemClock } from '../../core/units/time.js';
import { parseEther } from '../../core/units/wei.js';
import { eip7702Factory } from '../../core/entry-point/eip-7702.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { given } from '../../core/units/given.js';
import { createDelegates } from '../../server/decision/delegates.js';
import { readNpmArtifact } from '../../standalone/dev-chain/artifacts.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import type { DevProfile } from '../../standalone/dev-chain/paymaster-contracts.js';
import { create2Address, deployOnce } from '../../standalone/dev-chain/transactor.js';
import { defaultLimits } from '../build/default-limits.js';
import { asHex, buildAccount, encodeWith, type TestAccount } from './support/account.js';
import { balanceOf } from './support/balances.js';
import { sendWithAuthorization } from './support/authorization.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { encodeHandleOps, handleOp, refusalOf } from './support/handle-ops.js';
import { approval, mint, payInTokens, tokenTerms } from './support/tokens.js';
import { buildTerms, buildUserOp, sponsorUserOp } from './support/user-op.js';
import { newWallet } from '../support/new-wallet.js';

const counter = new Interface([
  'function increment()',
  'function counts(address account) view returns (uint256)',
]);

let devChain: DevChain;
let profile: DevProfile;
let delegate: Address;
beforeAll(async () => {
  devChain = await startDevChain();
  profile = devChain.profile('singleton-0.8');
  const [first] = devChain.deployments.delegates;
  if (first === undefined) throw new Error('the dev chain has no delegate');
  delegate = first;
});
afterAll(() => devChain.stop());

test('a plain key without ether delegates and acts in one sponsored bundle', async () => {
  const { owner, account, op, authorization } = await plainKey(0);
  const final = await estimated(op);
  const signed = await sponsorUserOp(devChain, profile, account, final);
  const before = await balanceOf(devChain, profile.entryPoint, profile.sponsorship);

  await sendWithAuthorization(devChain, devAccounts.deployer.privateKey, {
    to: profile.entryPoint,
    data: encodeHandleOps('0.8', [signed]),
    authorization,
  });

  expect(await devChain.chain.code(owner.address)).toBe(delegation(delegate));
  expect(await countOf(owner)).toBe(1n);
  expect(await devChain.chain.balance(owner.address)).toBe(0n);
  expect(await balanceOf(devChain, profile.entryPoint, profile.sponsorship)).toBeLessThan(before);
});

test('a plain key delegates, approves and pays for its gas in tokens in one bundle', async () => {
  const token = devChain.deployments.feeToken.address;
  const { owner, account, op, authorization } = await plainKey(0);
  await mint(devChain, token, account.address, 10n ** 12n);
  const callData = await account.encodeCalls([approval(token, profile, 10n ** 12n), increment()]);
  const terms = await tokenTerms(devChain, profile);
  const signed = await payInTokens(devChain, profile, account, { ...op, callData }, terms);
  const treasury = () => balanceOf(devChain, token, devChain.deployments.treasury);
  const before = await treasury();

  await sendWithAuthorization(devChain, devAccounts.deployer.privateKey, {
    to: profile.entryPoint,
    data: encodeHandleOps('0.8', [signed]),
    authorization,
  });

  expect(await countOf(owner)).toBe(1n);
  expect(await treasury()).toBeGreaterThan(before);
  expect((await balanceOf(devChain, token, account.address)) + (await treasury()) - before).toBe(10n ** 12n);
});

test('an operation of a key that has delegated before is sponsored like any other', async () => {
  // The owner sends the authorization itself, so its own nonce is 1 by then.
  const { owner, account, op, authorization } = await plainKey(1);
  await devChain.setBalance(asHex(owner.address), parseEther('1'));
  await sendWithAuthorization(devChain, owner.privateKey, {
    to: parseAddress(owner.address),
    data: '0x',
    authorization,
  });
  const { event } = await handleOp(
    devChain,
    '0.8',
    await sponsorUserOp(devChain, profile, account, await estimated(op)),
  );
  expect(event).toMatchObject({ success: true, sender: account.address });
  expect(await countOf(owner)).toBe(1n);
});

test('a delegate other than the one that was signed for is AA24', async () => {
  const initCode = readNpmArtifact('aa08', 'Simple7702Account').bytecode;
  const salt: Hex = `0x${'07'.repeat(32)}`;
  const copy = create2Address(initCode, salt);
  await deployOnce(devChain.chain, devChain.transactor, { name: 'copy', address: copy, initCode, salt });
  const { owner, account, op } = await plainKey(1);
  const signed = await sponsorUserOp(devChain, profile, account, op);
  await devChain.setBalance(asHex(owner.address), parseEther('1'));
  const authorization = await owner.authorize({ address: copy, chainId: devChain.chainId, nonce: 1 });
  await sendWithAuthorization(devChain, owner.privateKey, {
    to: parseAddress(owner.address),
    data: '0x',
    authorization,
  });

  expect(await devChain.chain.code(owner.address)).toBe(delegation(copy));
  expect(await refusalOf(devChain, '0.8', [signed])).toBe('AA24 signature error');
});

/** A new key, the operation that counts once, and its authorization of the delegate at this nonce of the account. */
test('a key that has delegated before is found to have its delegate, and acts without an authorization', async () => {
  const delegates = createDelegates({ chains: devChain.chains });
  const { owner, account, op } = await plainKey(0);
  const at = (number: number) => ({
    chain: { chainId: devChain.chainId, config: { rpc: { urls: [devChain.url] } } },
    head: { number },
  });
  const delegateAt = (number: number) => delegates.of(at(number) as never, account.address);
  expect(await delegateAt(1)).toBeUndefined();
  await devChain.chain.request('anvil_setCode', [owner.address, delegation(delegate)]);
  // One reading for a block.
  expect(await delegateAt(1)).toBeUndefined();
  expect(await delegateAt(2)).toBe(toAddressKey(delegate));

  const { eip7702Auth, ...shown } = op;
  const final = await estimated(shown);
  // The account signs the hash with its delegate, which the EntryPoint reads on chain.
  const signed = await sponsorUserOp(devChain, profile, account, { ...final, ...given({ eip7702Auth }) });
  const { eip7702Auth: _shown, ...mined } = signed.op;
  const { event } = await handleOp(devChain, '0.8', { ...signed, op: mined });
  expect(event.success).toBe(true);
  expect(await countOf(owner)).toBe(1n);
});

async function plainKey(ownNonce: number) {
  const owner = newWallet();
  const account: TestAccount = {
    ...(await buildAccount(devChain, '0.8', owner)),
    address: toAddressKey(parseAddress(owner.address)),
    initCode: () => Promise.resolve(eip7702Factory),
    nonce: () => Promise.resolve(0n),
  };
  const authorization = await owner.authorize({
    address: delegate,
    chainId: devChain.chainId,
    nonce: ownNonce,
  });
  const { r, s, yParity } = authorization.signature;
  const eip7702Auth = {
    address: toAddressKey(delegate),
    chainId: BigInt(devChain.chainId),
    nonce: BigInt(ownNonce),
    r: asHex(r),
    s: asHex(s),
    yParity,
  };
  const op: FinalUserOperation = { ...(await buildUserOp(account, [increment()])), eip7702Auth };
  return { owner, account, op, authorization };
}

/** With limits found by simulation, before the key has delegated. */
async function estimated(op: FinalUserOperation): Promise<FinalUserOperation> {
  const estimator = createGasEstimator({
    chains: devChain.chains,
    endpoint: () => ({ rpc: { urls: [devChain.url] } }),
    clock: systemClock,
    log: silentLogger,
  });
  const { sponsorship } = layouts[profile.layout];
  const limits = await estimator.estimate({
    paymasterId: 'pm-1',
    chainId: devChain.chainId,
    entryPoint: profile.entryPoint,
    entryPointVersion: '0.8',
    op,
    paymasterAndData: sponsorship.encode(op, await buildTerms(devChain, profile), stubSignature()),
    minVerificationGasLimit: 0n,
    most: defaultLimits,
  });
  expect(limits.reverted).toBeUndefined();
  const { callGasLimit, verificationGasLimit, preVerificationGas } = limits;
  return { ...op, callGasLimit, verificationGasLimit, preVerificationGas };
}

function delegation(address: Address): Hex {
  return `0xef0100${address.slice(2).toLowerCase()}`;
}

function increment() {
  return { to: devChain.deployments.sponsoredContract.address, data: encodeWith(counter, 'increment', []) };
}

async function countOf(owner: Wallet): Promise<bigint> {
  const data = encodeWith(counter, 'counts', [owner.address]);
  return BigInt(await devChain.chain.call({ to: devChain.deployments.sponsoredContract.address, data }));
}
