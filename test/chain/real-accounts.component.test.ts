import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { createGasEstimator } from '../../adapters/estimator/estimator.js';
import { silentLogger } from '../../core/log.js';
import { entryPointRules } from '../../core/entry-point/table.js';
import { pass } from '../../core/refusal.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { stubSignature } from '../../core/paymaster/signature.js';
import { systemClock } from '../../core/units/time.js';
import type { FinalUserOperation, GasLimits } from '../../core/entry-point/user-operation.js';
import { compileAllowList } from '../../core/policy/rules/allow-list/compile.js';
import { decideCalls } from '../../core/policy/rules/allow-list/decide.js';
import { compilePriceGuard } from '../../core/policy/rules/price-guard/compile.js';
import { maxGasLimits } from '../../core/policy/rules/price-guard/decide.js';
import { decodeCalls } from '../../core/userop/call-data.js';
import type { GasEstimator } from '../../core/userop/estimator.js';
import type { DevProfile } from '../../standalone/dev-chain/paymaster-contracts.js';
import { encodeWith, type Call, type TestAccount } from './support/account.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { handleOp } from './support/handle-ops.js';
import { deployOwnedAccounts, owned } from './support/owned-accounts.js';
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
let metaMask: Awaited<ReturnType<typeof deployMetaMask>>;
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
  await deployOwnedAccounts(devChain);
  metaMask = await deployMetaMask(devChain);
});
afterAll(() => devChain.stop());

const abi = new Interface(['function increment()', 'function total() view returns (uint256)']);

const profiles = { '0.6': ['1.1.0', 'singleton-0.6'], '0.7': ['verifying-0.7', '2.0.0', 'singleton-0.7'] };

type Case = {
  readonly name: string;
  readonly code: string;
  readonly profile: string;
  build(): Promise<TestAccount>;
};
const accounts: readonly Case[] = [
  ...Object.entries({
    'Safe 1.4.1': () => buildSafeAccount(devChain),
    'MetaMask Hybrid': () => buildMetaMaskAccount(devChain, metaMask),
    'MetaMask by EIP-7702': () => buildMetaMask7702(devChain, metaMask),
  }).flatMap(([name, build]) =>
    profiles['0.7'].map((profile) => ({ name, code: 'code of its package', profile, build })),
  ),
  ...Object.entries(owned).flatMap(([name, { version, build }]) =>
    profiles[version].map((profile) => ({
      name,
      code: 'a contract of our own in its shape',
      profile,
      build: () => build(devChain),
    })),
  ),
];

describe.each(accounts)('$name ($code), profile $profile', ({ profile, build }) => {
  test('is estimated, read and mined: its first operation, the next, and several calls at once', async () => {
    const account = await build();
    for (const calls of [1, 1, 3]) expect(await mine(profile, account, increments(calls))).toBe(calls);
  });

  test('is read and mined with limits that the caller gave: its first operation, and several calls at once', async () => {
    const account = await build();
    for (const calls of [1, 3]) expect(await mine(profile, account, increments(calls), given)).toBe(calls);
  });
});

/** Enough for the first operation of each account. */
const given: GasLimits = {
  callGasLimit: 600_000n,
  verificationGasLimit: 800_000n,
  preVerificationGas: 80_000n,
};

describe.each(shaped)('$contract, $form', ({ contract, encode }) => {
  test.each(profiles['0.7'])('is estimated, read and mined with %s', async (version) => {
    const account = await buildShapedAccount(devChain, contract, encode);
    expect(await mine(version, account, [increment()])).toBeGreaterThan(0);
    expect(await mine(version, account, [increment(), increment()])).toBeGreaterThan(0);
  });
});

/**
 * Reads the calls, which must pass for a paymaster with this one contract, sponsors with the limits that were given or are found, and
 * mines. The number of calls read, which is that of calls made.
 */
async function mine(
  version: string,
  account: TestAccount,
  calls: readonly Call[],
  limits?: GasLimits,
): Promise<number> {
  const profile = devChain.profile(version);
  const { entryPointVersion } = profile;
  const before = await count();
  const op = await buildUserOp(account, calls);
  const read = decodeCalls(op.callData, {
    account: op.sender,
    passesWholeOperation: entryPointRules[entryPointVersion].passesWholeOperation,
    ofChain: undefined,
    ofPaymaster: undefined,
    modules: undefined,
  });
  expect(decideCalls(registered(), read, op)).toEqual(pass);
  if (read.outcome === 'refused') throw new Error(read.detail);
  const found = limits ?? (await estimate(profile, account, op));
  const signed = await sponsorUserOp(devChain, profile, account, { ...op, ...found });
  const { event, gasUsed } = await handleOp(devChain, entryPointVersion, signed);
  expect(event.success).toBe(true);
  expect(event.actualGasUsed).toBeGreaterThanOrEqual(gasUsed);
  if (limits === undefined) expect(Number(event.actualGasUsed)).toBeLessThan(Number(gasUsed) * 1.3);
  expect((await count()) - before).toBe(BigInt(read.calls.length));
  return read.calls.length;
}

/** Without any limits of the caller. */
async function estimate(
  profile: DevProfile,
  account: TestAccount,
  op: FinalUserOperation,
): Promise<GasLimits> {
  const terms = await buildTerms(devChain, profile);
  const { callGasLimit, verificationGasLimit, preVerificationGas, reverted } = await estimator.estimate({
    paymasterId: 'pm-1',
    chainId: devChain.chainId,
    entryPoint: profile.entryPoint,
    entryPointVersion: profile.entryPointVersion,
    op: {
      ...op,
      callGasLimit: undefined,
      verificationGasLimit: undefined,
      preVerificationGas: undefined,
      signature: await account.sign(op, '0x'),
    },
    paymasterAndData: layouts[profile.layout].sponsorship.encode(op, terms, stubSignature()),
    minVerificationGasLimit: layouts[profile.layout].sponsorship.minVerificationGasLimit,
    most: maxGasLimits(compilePriceGuard({}, {}), op),
  });
  expect(reverted).toBeUndefined();
  return { callGasLimit, verificationGasLimit, preVerificationGas };
}

function registered() {
  const { address } = devChain.deployments.sponsoredContract;
  const { selector } = abi.getFunction('increment')!;
  return compileAllowList({
    defaultContractAction: 'Deny',
    contractsRegistered: true,
    contracts: [{ name: 'counter', address, selectors: [selector] }],
  });
}

function increments(calls: number): readonly Call[] {
  return Array.from({ length: calls }, increment);
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
