import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { createGasEstimator } from '../../adapters/estimator/estimator.js';
import { silentLogger } from '../../core/log.js';
import { entryPointRules } from '../../core/entry-point/table.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { stubSignature } from '../../core/paymaster/signature.js';
import { systemClock } from '../../core/units/time.js';
import { decodeCalls } from '../../core/userop/call-data.js';
import type { GasEstimator } from '../../core/userop/estimator.js';
import { defaultLimits } from '../build/default-limits.js';
import { encodeWith, type Call, type TestAccount } from './support/account.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { handleOp } from './support/handle-ops.js';
import {
  buildMetaMask7702,
  buildMetaMaskAccount,
  buildSafeAccount,
  buildShapedAccount,
  deployKernelMultiSend,
  deployMetaMask,
  deploySafes,
} from './support/real-accounts.js';
import { shaped } from './support/shapes.js';
import { buildTerms, buildUserOp, sponsorUserOp } from './support/user-op.js';

let devChain: DevChain;
let estimator: GasEstimator;
let builders: Readonly<Record<string, () => Promise<TestAccount>>>;
beforeAll(async () => {
  devChain = await startDevChain();
  estimator = createGasEstimator({
    chains: devChain.chains,
    endpoint: () => ({ rpc: { urls: [devChain.url] } }),
    clock: systemClock,
    log: silentLogger,
  });
  await deploySafes(devChain);
  await deployKernelMultiSend(devChain);
  const metaMask = await deployMetaMask(devChain);
  builders = {
    'Safe 1.4.1': () => buildSafeAccount(devChain),
    'MetaMask Hybrid': () => buildMetaMaskAccount(devChain, metaMask),
    'MetaMask by EIP-7702': () => buildMetaMask7702(devChain, metaMask),
  };
});
afterAll(() => devChain.stop());

const abi = new Interface(['function increment()', 'function total() view returns (uint256)']);

const profiles = ['verifying-0.7', '2.0.0', 'singleton-0.7'];

describe.each(['Safe 1.4.1', 'MetaMask Hybrid', 'MetaMask by EIP-7702'])('%s', (name) => {
  test.each(profiles)(
    'is estimated, read and mined with %s: its first operation, the next, and several calls at once',
    async (version) => {
      const account = await builders[name]!();
      for (const calls of [1, 1, 3]) {
        const given = Array.from({ length: calls }, increment);
        expect(await mine(version, account, given)).toBe(calls);
      }
    },
  );
});

describe.each(shaped)('$contract, $form', ({ contract, encode }) => {
  test.each(profiles)('is estimated, read and mined with %s', async (version) => {
    const account = await buildShapedAccount(devChain, contract, encode);
    expect(await mine(version, account, [increment()])).toBeGreaterThan(0);
    expect(await mine(version, account, [increment(), increment()])).toBeGreaterThan(0);
  });
});

/** Estimates, reads the calls, sponsors with the limits found, and mines. The number of calls read, which is that of calls made. */
async function mine(version: string, account: TestAccount, given: readonly Call[]): Promise<number> {
  const profile = devChain.profile(version);
  const { entryPointVersion } = profile;
  const before = await count();
  const op = await buildUserOp(account, given);
  const read = decodeCalls(op.callData, {
    account: op.sender,
    passesWholeOperation: entryPointRules[entryPointVersion].passesWholeOperation,
    ofChain: undefined,
    ofPaymaster: undefined,
    modules: undefined,
  });
  if (read.outcome === 'refused') throw new Error(read.detail);
  for (const { target, selector } of read.calls)
    expect({ target, selector }).toEqual({ target: given[0]?.to.toLowerCase(), selector: given[0]?.data });
  const terms = await buildTerms(devChain, profile);
  const found = await estimator.estimate({
    paymasterId: 'pm-1',
    chainId: devChain.chainId,
    entryPoint: profile.entryPoint,
    entryPointVersion,
    op: { ...op, signature: await account.sign(op, '0x') },
    paymasterAndData: layouts[profile.layout].sponsorship.encode(op, terms, stubSignature()),
    minVerificationGasLimit: 0n,
    most: defaultLimits,
  });
  expect(found.reverted).toBeUndefined();
  const { callGasLimit, verificationGasLimit, preVerificationGas } = found;
  const signed = await sponsorUserOp(devChain, profile, account, {
    ...op,
    callGasLimit,
    verificationGasLimit,
    preVerificationGas,
  });
  const { event, gasUsed } = await handleOp(devChain, entryPointVersion, signed);
  expect(event.success).toBe(true);
  expect(event.actualGasUsed).toBeGreaterThanOrEqual(gasUsed);
  expect(Number(event.actualGasUsed)).toBeLessThan(Number(gasUsed) * 1.3);
  expect((await count()) - before).toBe(BigInt(read.calls.length));
  return read.calls.length;
}

function increment(): Call {
  return {
    to: devChain.deployments.sponsoredContract.address,
    data: encodeWith(abi, 'increment', []) as `0x${string}`,
  };
}

async function count(): Promise<bigint> {
  const { address } = devChain.deployments.sponsoredContract;
  return BigInt(await devChain.chain.call({ to: address, data: encodeWith(abi, 'total', []) }));
}
