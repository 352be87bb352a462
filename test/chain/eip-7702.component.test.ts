import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Interface, Wallet, toBeHex, zeroPadValue } from 'ethers';
import { createGasEstimator } from '../../core/adapters/estimator/estimator.js';
import { silentLogger } from '../../core/log.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { stubSignature } from '../../core/paymaster/signature.js';
import { parseAddress, toAddressKey } from '../../core/units/address.js';
import { systemClock } from '../../core/units/time.js';
import { parseEther } from '../../core/units/wei.js';
import { eip7702Factory } from '../../core/userop/eip-7702.js';
import type { FinalUserOperation } from '../../core/userop/user-operation.js';
import { asHex, buildAccount, encodeWith, type TestAccount } from './support/account.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { handleOp } from './support/handle-ops.js';
import { buildTerms, buildUserOp, sponsorUserOp } from './support/user-op.js';

const counter = new Interface([
  'function increment()',
  'function counts(address account) view returns (uint256)',
]);

let devChain: DevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());

test('a plain key that delegates is estimated before it has, and its sponsored operation is mined after', async () => {
  const profile = devChain.profile('singleton-0.8');
  const [delegate] = devChain.deployments.delegates;
  if (delegate === undefined) throw new Error('the dev chain has no delegate');
  const owner = new Wallet(Wallet.createRandom().privateKey);
  const account: TestAccount = {
    ...(await buildAccount(devChain, '0.8', owner)),
    address: toAddressKey(parseAddress(owner.address)),
    initCode: () => Promise.resolve(eip7702Factory),
    nonce: () => Promise.resolve(0n),
  };
  // The bundler's transaction would carry it; the owner's own nonce is 1 by then, because the owner sends it here.
  const authorization = await owner.authorize({ address: delegate, chainId: devChain.chainId, nonce: 1 });
  const { r, s, yParity } = authorization.signature;
  const eip7702Auth = {
    address: toAddressKey(delegate),
    chainId: BigInt(devChain.chainId),
    nonce: 1n,
    r: asHex(r),
    s: asHex(s),
    yParity,
  };
  const call = {
    to: devChain.deployments.sponsoredContract.address,
    data: encodeWith(counter, 'increment', []),
  };
  const op: FinalUserOperation = { ...(await buildUserOp(account, [call])), eip7702Auth };

  const estimator = createGasEstimator({
    chains: devChain.chains,
    endpoint: () => ({ rpc: { urls: [devChain.url] } }),
    clock: systemClock,
    log: silentLogger,
  });
  const { sponsorship } = layouts[profile.layout];
  const limits = await estimator.estimate({
    chainId: devChain.chainId,
    entryPoint: profile.entryPoint,
    entryPointVersion: '0.8',
    op,
    paymasterAndData: sponsorship.encode(op, await buildTerms(devChain, profile), stubSignature()),
    minVerificationGasLimit: 0n,
  });
  expect(limits.reverted).toBeUndefined();

  await delegateBy(owner, authorization);
  expect(await devChain.chain.code(owner.address)).toBe(`0xef0100${delegate.slice(2).toLowerCase()}`);
  const { callGasLimit, verificationGasLimit, preVerificationGas } = limits;
  const final = { ...op, callGasLimit, verificationGasLimit, preVerificationGas };
  const { event } = await handleOp(devChain, '0.8', await sponsorUserOp(devChain, profile, account, final));
  expect(event).toMatchObject({ success: true, sender: account.address });
  const counts = encodeWith(counter, 'counts', [owner.address]);
  expect(await devChain.chain.call({ to: call.to, data: counts })).toBe(zeroPadValue(toBeHex(1), 32));
});

/** A type 4 transaction by the owner to itself. */
async function delegateBy(
  owner: Wallet,
  authorization: Awaited<ReturnType<Wallet['authorize']>>,
): Promise<void> {
  await devChain.setBalance(asHex(owner.address), parseEther('1'));
  const raw = await owner.signTransaction({
    type: 4,
    chainId: devChain.chainId,
    nonce: 0,
    to: owner.address,
    gasLimit: 200_000n,
    maxFeePerGas: 10_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
    authorizationList: [authorization],
  });
  await devChain.chain.request('eth_sendRawTransaction', [raw]);
}
