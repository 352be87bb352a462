import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { createGasEstimator } from '../../adapters/estimator/estimator.js';
import { isDomainError } from '../../core/errors.js';
import { silentLogger } from '../../core/log.js';
import { entryPoints } from '../../core/entry-point/address.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { stubSignature } from '../../core/paymaster/signature.js';
import { parseAddress, toAddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import { systemClock } from '../../core/units/time.js';
import type { GasEstimator } from '../../core/userop/estimator.js';
import type { EntryPointVersion } from '../../core/entry-point/version.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { defaultLimits } from '../build/default-limits.js';
import { buildAccount, encodeWith, type Call, type TestAccount } from './support/account.js';
import { profileNames, startDevChain, type DevChain } from './support/dev-chain.js';
import { handleOp, refusalOf } from './support/handle-ops.js';
import { buildTerms, buildUserOp, sponsorUserOp } from './support/user-op.js';
import { revertTo } from './support/revert-to.js';
import { newWallet } from '../support/new-wallet.js';

const abi = new Interface(['function increment()', 'function burn(uint256 rounds)', 'function fail()']);

let devChain: DevChain;
let estimator: GasEstimator;
beforeAll(async () => {
  devChain = await startDevChain();
  estimator = createGasEstimator({
    chains: devChain.chains,
    endpoint: (chainId) => (chainId === devChain.chainId ? { rpc: { urls: [devChain.url] } } : undefined),
    clock: systemClock,
    log: silentLogger,
  });
});
afterAll(() => devChain.stop());

describe.each(profileNames)('profile %s', (name) => {
  test.each([
    {
      what: 'an account that does not exist yet, one call',
      isDeployed: false,
      calls: () => [call('increment')],
    },
    { what: 'an account alone', isDeployed: false, calls: () => [] },
    { what: 'an account that exists, one call', isDeployed: true, calls: () => [call('increment')] },
    { what: 'a call that writes 25 slots', isDeployed: true, calls: () => [call('burn', 25)] },
    {
      what: 'a batch',
      isDeployed: true,
      calls: () => [call('increment'), call('burn', 3), call('increment')],
    },
  ])('the estimate is enough to be mined: $what', async ({ isDeployed, calls }) => {
    const { version, account, estimate, sponsored } = await prepared(name, isDeployed, calls());
    const limits = await estimate();
    expect(limits.reverted).toBeUndefined();
    const { event, gasUsed } = await handleOp(devChain, version, await sponsored(limits));
    expect(event.success).toBe(true);
    expect(event.sender).toBe(account.address);
    // What the operation pays for covers the bundle of one, and not much more than it.
    expect(event.actualGasUsed).toBeGreaterThanOrEqual(gasUsed);
    expect(Number(event.actualGasUsed)).toBeLessThan(Number(gasUsed) * 1.25);
  });
});

describe.each(['1.1.0', 'verifying-0.7', 'singleton-0.8'] as const)(
  'least limits by bisection, profile %s',
  (name) => {
    test('the estimate is above the least limit that works, by less than a third and 15,000', async () => {
      const { version, estimate, sponsored } = await prepared(name, true, [call('burn', 5)]);
      const limits = await estimate();
      const isMinedWith = async (changed: Partial<FinalUserOperation>) => {
        const snapshot = await devChain.chain.request('evm_snapshot', []);
        const signed = await sponsored({ ...limits, ...changed });
        const isAccepted = (await refusalOf(devChain, version, [signed])) === 'accepted';
        const isSuccess = isAccepted && (await handleOp(devChain, version, signed)).event.success;
        await revertTo(devChain.chain, snapshot);
        return isSuccess;
      };
      const leastCall = await bisect(limits.callGasLimit, (gas) => isMinedWith({ callGasLimit: gas }));
      expect(limits.callGasLimit).toBeGreaterThan(leastCall);
      expect(limits.callGasLimit).toBeLessThan((leastCall * 4n) / 3n + 15_000n);
      const leastVerification = await bisect(limits.verificationGasLimit, (gas) =>
        isMinedWith({ verificationGasLimit: gas }),
      );
      expect(limits.verificationGasLimit).toBeGreaterThan(leastVerification);
      // From 0.7 on the paymaster's own share is measured along.
      expect(limits.verificationGasLimit).toBeLessThan((leastVerification * 4n) / 3n + 45_000n);
    });
  },
);

describe.each(['0.6', '0.7', '0.8', '0.9'] as const)('EntryPoint %s', (version) => {
  test('an operation without a paymaster is estimated although the account owns nothing', async () => {
    const account = await buildAccount(devChain, version);
    const op = await buildUserOp(account, [call('increment')]);
    const limits = await estimator.estimate(request(version, op, undefined));
    expect(limits.reverted).toBeUndefined();
    expect(limits.verificationGasLimit).toBeGreaterThan(150_000n);
    expect(limits.callGasLimit).toBeGreaterThan(40_000n);
  });

  test('an absent account signature does not spoil the estimate', async () => {
    const account = await buildAccount(devChain, version);
    const op = await buildUserOp(account, [call('increment')], { signature: '0x' });
    const signed = { ...op, signature: await account.sign(op, '0x') };
    const [absent, present] = await Promise.all(
      [op, signed].map((each) => estimator.estimate(request(version, each, undefined))),
    );
    expect(absent?.callGasLimit).toBe(present?.callGasLimit);
  });

  test('a call that fails is estimated with its reason', async () => {
    const account = await buildAccount(devChain, version);
    const op = await buildUserOp(account, [call('fail')]);
    const limits = await estimator.estimate(request(version, op, undefined));
    expect(limits.reverted).toMatch(/^custom error 0x[0-9a-f]{8}$/);
    expect(limits.callGasLimit).toBeGreaterThan(5_000n);
  });

  test('a signature that the account cannot read is named, with what to do', async () => {
    const account = await buildAccount(devChain, version);
    const op = await buildUserOp(account, [call('increment')], {
      signature: `0x${'ff'.repeat(32)}${'11'.repeat(32)}1b`,
    });
    const error = await failureOf(estimator.estimate(request(version, op, undefined)));
    if (!isDomainError(error, 'ESTIMATION_FAILED')) throw error;
    expect(error.message).toBe(
      `gas estimation failed: AA23 reverted: ${version === '0.6' ? 'ECDSA: invalid signature' : 'ECDSAInvalidSignature()'}`,
    );
    expect(error.details.remedy).toMatch(/^The account cannot read the signature: /);
  });

  test('a call of a batch that fails is named', async () => {
    const account = await buildAccount(devChain, version);
    const op = await buildUserOp(account, [call('increment'), call('fail')]);
    const { reverted } = await estimator.estimate(request(version, op, undefined));
    const found = isBatchError(version)
      ? /^ExecuteError\(index=1, error=custom error 0x/
      : /^custom error 0x/;
    expect(reverted).toMatch(found);
  });

  test.each<{ name: string; op: (op: FinalUserOperation) => FinalUserOperation; reason: RegExp }>([
    {
      name: 'an account without code and without initCode',
      op: (op) => ({ ...op, initCode: '0x' }),
      reason: /^gas estimation failed: AA20 account not deployed$/,
    },
    {
      name: 'a factory that fails',
      op: (op) => ({ ...op, initCode: `${op.initCode.slice(0, 42)}deadbeef` as Hex }),
      reason: /^gas estimation failed: AA13 initCode failed or OOG/,
    },
    {
      name: 'a nonce that was skipped',
      op: (op) => ({ ...op, nonce: 77n }),
      reason: /^gas estimation failed: AA25 invalid account nonce/,
    },
  ])('$name is ESTIMATION_FAILED with the reason of the EntryPoint', async ({ op: change, reason }) => {
    const account = await buildAccount(devChain, version);
    const op = change(await buildUserOp(account, [call('increment')]));
    const error = await failureOf(estimator.estimate(request(version, op, undefined)));
    expect(isDomainError(error, 'ESTIMATION_FAILED')).toBe(true);
    expect(String(error)).toMatch(new RegExp(reason.source.replace('^', 'DomainError: ')));
  });
});

/** Accounts up to 0.7 pass on the bare error of the call. */
function isBatchError(version: EntryPointVersion): boolean {
  return version !== '0.6' && version !== '0.7';
}

test('an EIP-7702 account is estimated with the code of its delegate', async () => {
  const [delegate] = devChain.deployments.delegates;
  if (delegate === undefined) throw new Error('the dev chain has no delegate');
  const owner = newWallet();
  const account = {
    ...(await buildAccount(devChain, '0.8', owner)),
    address: toAddressKey(parseAddress(owner.address)),
  };
  const op = await buildUserOp(account, [call('increment')], {
    initCode: '0x7702000000000000000000000000000000000000',
    nonce: 0n,
  });
  const word: Hex = `0x${'11'.repeat(32)}`;
  const eip7702Auth = {
    address: toAddressKey(delegate),
    chainId: 31337n,
    nonce: 0n,
    r: word,
    s: word,
    yParity: 0 as const,
  };
  const limits = await estimator.estimate(request('0.8', { ...op, eip7702Auth }, undefined));
  expect(limits.reverted).toBeUndefined();
  expect(limits.callGasLimit).toBeGreaterThan(40_000n);
  const without = await failureOf(estimator.estimate(request('0.8', op, undefined)));
  expect(isDomainError(without, 'ESTIMATION_FAILED')).toBe(true);
  expect(String(without)).toContain('sender has no code');
});

test('a chain that is not configured is UNAVAILABLE', async () => {
  const op = await buildUserOp(await buildAccount(devChain, '0.6'), []);
  const error = await failureOf(estimator.estimate({ ...request('0.6', op, undefined), chainId: 5 }));
  expect(isDomainError(error, 'UNAVAILABLE')).toBe(true);
});

function call(method: 'increment' | 'burn' | 'fail', ...values: readonly number[]): Call {
  return { to: devChain.deployments.sponsoredContract.address, data: encodeWith(abi, method, values) };
}

function request(version: EntryPointVersion, op: FinalUserOperation, paymasterAndData: Hex | undefined) {
  return {
    paymasterId: 'pm-1',
    chainId: devChain.chainId,
    entryPoint: entryPoints[version],
    entryPointVersion: version,
    op,
    paymasterAndData,
    minVerificationGasLimit: 0n,
    most: defaultLimits,
  };
}

async function prepared(name: string, isDeployed: boolean, calls: readonly Call[]) {
  const profile = devChain.profile(name);
  const version = profile.entryPointVersion;
  const account: TestAccount = await buildAccount(devChain, version);
  if (isDeployed) {
    const deployment = await sponsorUserOp(
      devChain,
      profile,
      account,
      await buildUserOp(account, [call('increment')]),
    );
    await handleOp(devChain, version, deployment);
  }
  const op = await buildUserOp(account, calls);
  const stub = layouts[profile.layout].sponsorship.encode(
    op,
    await buildTerms(devChain, profile),
    stubSignature(),
  );
  return {
    version,
    account,
    estimate: () => estimator.estimate(request(version, op, stub)),
    sponsored: ({ callGasLimit, verificationGasLimit, preVerificationGas }: FinalLimits) =>
      sponsorUserOp(devChain, profile, account, {
        ...op,
        callGasLimit,
        verificationGasLimit,
        preVerificationGas,
      }),
  };
}

type FinalLimits = Pick<FinalUserOperation, 'callGasLimit' | 'verificationGasLimit' | 'preVerificationGas'>;

/** Least value that works, to 100. */
async function bisect(works: bigint, isEnough: (gas: bigint) => Promise<boolean>): Promise<bigint> {
  let [low, high] = [0n, works];
  while (high - low > 100n) {
    const middle = (low + high) / 2n;
    if (await isEnough(middle)) high = middle;
    else low = middle;
  }
  return high;
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('expected a failure');
}
