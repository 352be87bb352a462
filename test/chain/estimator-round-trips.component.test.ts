import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { createGasEstimator } from '../../adapters/estimator/estimator.js';
import { isDomainError } from '../../core/errors.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import type { EntryPointVersion } from '../../core/entry-point/version.js';
import { silentLogger } from '../../core/log.js';
import { hexQuantity, type Hex } from '../../core/units/hex.js';
import { systemClock } from '../../core/units/time.js';
import type { Estimate, EstimateRequest, GasEstimator } from '../../core/userop/estimator.js';
import { defaultLimits } from '../build/default-limits.js';
import { asHex, buildAccount, encodeWith, type TestAccount } from './support/account.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { handleOp } from './support/handle-ops.js';
import { createNodes, startInRounds, tooManyArguments, type Reply } from './support/nodes.js';
import { buildUserOp } from './support/user-op.js';

// Every estimate takes at most two round trips to the node. The node answers in rounds of the planned sizes: one more round,
// or a call that waits for another one, and the test does not end.

const abi = new Interface(['function increment()', 'function fail()', 'function burn(uint256 rounds)']);
const entryPointAbi = new Interface(['function depositTo(address account) payable']);
const versions = ['0.6', '0.7', '0.8', '0.9'] as const satisfies readonly EntryPointVersion[];
/** The operation with plenty of gas, and without its call. */
const measured = 2;
/** The same with less gas for a node that caps it, and all of them without the time for a node that cannot take it. */
const measuredOfUnknown = 2 * 2 * measured;
/** The limits found, two with a higher verificationGasLimit, four with a higher callGasLimit, and the highest of both. */
const candidates = 8;

let devChain: DevChain;
const nodes = createNodes(() => devChain.url);
beforeAll(async () => {
  devChain = await startDevChain();
});
afterEach(() => nodes.stop());
afterAll(() => devChain.stop());

describe.each(versions)('EntryPoint %s', (version) => {
  test('an operation like an earlier one is estimated in one round trip, another one in two', async () => {
    const node = await startInRounds(nodes);
    const estimator = estimatorOver(node.url);
    const account = await buildAccount(devChain, version);
    node.plan(measuredOfUnknown, candidates);
    const first = await estimator.estimate(await aRequest(account, 'burn', 5));
    // And with the limits to expect.
    node.plan(measured + 1);
    expect(await estimator.estimate(await aRequest(account, 'burn', 5))).toEqual(first);
    // As long, to the same contract, with other needs: the expected gas is too little.
    node.plan(measured + 1, candidates);
    const heavier = await estimator.estimate(await aRequest(account, 'burn', 10));
    expect(heavier.callGasLimit).toBeGreaterThan(first.callGasLimit);
    // The expected gas is more than the limits that are found.
    node.plan(measured + 1, candidates);
    expect(await estimator.estimate(await aRequest(account, 'burn', 5))).toEqual(first);
    node.plan(measured, candidates);
    await estimator.estimate(await aRequest(account, 'increment'));
    expect(node.isDone()).toBe(true);
  });

  test.each<{ name: string; wants: Wants; call: Range; validation: Range }>([
    {
      name: 'more for the call',
      wants: { call: 120_000 },
      call: [120_000, 300_000],
      validation: [0, 100_000],
    },
    {
      name: 'more for validation',
      wants: { validation: 200_000 },
      call: [0, 100_000],
      validation: [200_000, 700_000],
    },
    {
      name: 'more for both',
      wants: { call: 120_000, validation: 200_000 },
      call: [120_000, 300_000],
      validation: [200_000, 700_000],
    },
    {
      name: 'far more for both than factors reach',
      wants: { call: 2_000_000, validation: 1_200_000 },
      call: [10_000_000, 10_000_000],
      validation: [5_000_000, 5_000_000],
    },
  ])('limits are raised, and suffice, where an account wants $name', async ({ wants, call, validation }) => {
    const account = await anAccountThatWants(version, wants);
    const node = await startInRounds(nodes);
    node.plan(measuredOfUnknown, candidates);
    const request = await aRequest(account, '0x11111111');
    const limits = await estimatorOver(node.url).estimate(request);
    expect(node.isDone()).toBe(true);
    expectWithin(limits.callGasLimit, call);
    expectWithin(limits.verificationGasLimit, validation);

    // It pays for itself: on 0.6 a paymaster would need more of verificationGasLimit.
    const { transactor, deployments } = devChain;
    const data = encodeWith(entryPointAbi, 'depositTo', [account.address]);
    await transactor.send('deposit', { to: deployments.entryPoints[version], data, value: 10n ** 18n });
    const op = { ...request.op, ...limits };
    const { event } = await handleOp(devChain, version, { op, paymasterAndData: '0x' });
    expect(event.success).toBe(true);
  });

  test.each<{ name: string; wants: Wants; says: RegExp }>([
    {
      name: 'the call',
      wants: { call: 11_000_000 },
      says: /the call uses \d+ gas, and fails with a callGasLimit of 10000000, the highest that is tried for it .*maxCallGasLimit/,
    },
    {
      name: 'validation',
      wants: { validation: 6_000_000 },
      says: /the validation uses \d+ gas, and fails with a verificationGasLimit of 5000000, the highest that .*maxVerificationGasLimit/,
    },
  ])(
    'an account that wants more than the cap for $name is refused in two round trips',
    async ({ wants, says }) => {
      const account = await anAccountThatWants(version, wants);
      const node = await startInRounds(nodes);
      node.plan(measuredOfUnknown, candidates);
      const asked = estimatorOver(node.url).estimate(await aRequest(account, '0x11111111'));
      expect(await refusalOf(asked)).toMatch(says);
      expect(node.isDone()).toBe(true);
    },
  );

  test('an estimate is the same whatever was estimated before it', async () => {
    const account = await buildAccount(devChain, version);
    const requests = [
      await aRequest(account, 'burn', 1),
      await aRequest(account, 'burn', 60),
      await aRequest(account, 'increment'),
      await aRequest(account, 'fail'),
    ];
    const alone: Estimate[] = [];
    for (const request of requests) alone.push(await estimatorOver(devChain.url).estimate(request));
    expect(alone.map(({ reverted }) => reverted !== undefined)).toEqual([false, false, false, true]);
    const together = estimatorOver(devChain.url);
    for (const index of [0, 1, 1, 0, 2, 3, 2, 2, 3, 1]) {
      const request = requests[index];
      if (request === undefined) throw new Error(`no request ${index}`);
      expect(await together.estimate(request)).toEqual(alone[index]);
    }
  });
});

// EntryPoints answer a simulation by a revert, or by a return of the code that overrides theirs.
describe.each(['0.6', '0.8'] as const)('a node, EntryPoint %s', (version) => {
  test.each<{ name: string; reply: (params: readonly unknown[]) => Reply }>([
    { name: 'caps the gas of eth_call without a word', reply: (params) => withGasCap(params, 10_000_000n) },
    { name: 'refuses a call with much gas', reply: refusingAbove(15_000_000n) },
    {
      name: 'takes no time of the block',
      reply: (params) => (params.length > 3 ? tooManyArguments : 'pass'),
    },
  ])('a node that $name costs no third round trip', async ({ reply }) => {
    const account = await anAccountThatWants(version, { call: 120_000, validation: 200_000 });
    const plain = await estimatorOver(devChain.url).estimate(await aRequest(account, '0x11111111'));
    const node = await startInRounds(nodes, reply);
    const estimator = estimatorOver(node.url);
    node.plan(measuredOfUnknown, candidates);
    expect(await estimator.estimate(await aRequest(account, '0x11111111'))).toEqual(plain);
    // Now the node is known.
    node.plan(measured, candidates);
    await estimator.estimate(await aRequest(account, '0x1111111122'));
    expect(node.isDone()).toBe(true);
  });
});

test('a node that gives less gas than before is refused once, and asked with less from then on', async () => {
  let cap = 50_000_000n;
  const node = await startInRounds(nodes, (params) => withGasCap(params, cap));
  const estimator = estimatorOver(node.url);
  const account = await buildAccount(devChain, '0.7');
  node.plan(measuredOfUnknown, candidates);
  const limits = await estimator.estimate(await aRequest(account, 'burn', 5));
  cap = 10_000_000n;
  node.plan(measured + 1);
  const refusal = refusalOf(estimator.estimate(await aRequest(account, 'burn', 5)));
  expect(await refusal).toContain('the chain node gives eth_call less gas than before');
  // With plenty and with less at once.
  node.plan(2 * measured + 1);
  expect(await estimator.estimate(await aRequest(account, 'burn', 5))).toEqual(limits);
  expect(node.isDone()).toBe(true);
});

/** Gas that has to be left when the account is called; nothing is checked where it is absent. */
type Wants = { readonly call?: number; readonly validation?: number };

/**
 * An account of our own code. Called by the EntryPoint with its callData of at most 100 bytes, and with more to validate, it
 * reverts when less gas is left than it wants; else it writes one of its slots and, to validate, returns 0: a valid signature.
 */
async function anAccountThatWants(
  version: EntryPointVersion,
  { call = 0, validation = 0 }: Wants,
): Promise<TestAccount> {
  const account = await buildAccount(devChain, version);
  const push3 = (gas: number): string => `62${gas.toString(16).padStart(6, '0')}`;
  const code = [
    '60643611601657', // 0: calldatasize > 100 ? go to 22
    `5a${push3(call)}11602f57`, // 7: less gas than the call wants? go to 47
    '600160015500', // 16
    `5b5a${push3(validation)}11602f57`, // 22
    '600160005560006000526020' + '6000f3', // 32
    '5b60006000fd', // 47
  ].join('');
  await devChain.chain.request('anvil_setCode', [account.address, `0x${code}`]);
  return account;
}

type Range = readonly [number, number];

function expectWithin(value: bigint, [least, most]: Range): void {
  expect(value).toBeGreaterThanOrEqual(BigInt(least));
  expect(value).toBeLessThanOrEqual(BigInt(most));
}

function withGasCap(params: readonly unknown[], cap: bigint): Reply {
  const [call, ...others] = params;
  const { gas } = call as { readonly gas: Hex };
  return {
    params: [{ ...Object(call), gas: hexQuantity(BigInt(gas) < cap ? BigInt(gas) : cap) }, ...others],
  };
}

function refusingAbove(cap: bigint): (params: readonly unknown[]) => Reply {
  return ([call]) => {
    const { gas } = call as { readonly gas: Hex };
    return BigInt(gas) > cap ? { error: { code: -32000, message: 'gas limit is above the cap' } } : 'pass';
  };
}

async function refusalOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    if (isDomainError(error)) return `${error.message} ${error.details.remedy ?? ''}`;
    throw error;
  }
  throw new Error('expected a refusal');
}

function estimatorOver(url: string): GasEstimator {
  return createGasEstimator({
    chains: devChain.chains,
    endpoint: () => ({ rpc: { urls: [url] } }),
    clock: systemClock,
    log: silentLogger,
  });
}

/** A call of the contract on the dev chain, or callData for an account of our own code. */
async function aRequest(
  account: TestAccount,
  call: 'increment' | 'fail' | 'burn' | Hex,
  ...values: readonly number[]
): Promise<EstimateRequest & { readonly op: FinalUserOperation }> {
  const to = devChain.deployments.sponsoredContract.address;
  const op = call.startsWith('0x')
    ? await buildUserOp(account, [], { callData: asHex(call) })
    : await buildUserOp(account, [{ to, data: encodeWith(abi, call, values) }]);
  return {
    paymasterId: 'pm-1',
    chainId: devChain.chainId,
    entryPoint: devChain.deployments.entryPoints[account.version],
    entryPointVersion: account.version,
    op,
    paymasterAndData: undefined,
    minVerificationGasLimit: 0n,
    most: defaultLimits,
  };
}
