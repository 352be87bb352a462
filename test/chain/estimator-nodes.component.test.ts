import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { createGasEstimator } from '../../adapters/estimator/estimator.js';
import type { DataFeeSpec } from '../../core/chain/data-fee/spec.js';
import { isDomainError } from '../../core/errors.js';
import { silentLogger } from '../../core/log.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { stubSignature } from '../../core/paymaster/signature.js';
import type { Hex } from '../../core/units/hex.js';
import { systemClock, type Clock, type EpochMs } from '../../core/units/time.js';
import type { EstimateRequest, GasEstimator } from '../../core/userop/estimator.js';
import type { EntryPointVersion } from '../../core/entry-point/version.js';
import { defaultLimits } from '../build/default-limits.js';
import { buildAccount, encodeWith } from './support/account.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { createNodes, tooManyArguments } from './support/nodes.js';
import { buildTerms, buildUserOp } from './support/user-op.js';

const counter = new Interface(['function increment()']);
const contract: Hex = `0x${'c0'.repeat(20)}`;

let devChain: DevChain;
const nodes = createNodes(() => devChain.url);
const proxy = nodes.proxy;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterEach(() => nodes.stop());
afterAll(() => devChain.stop());

describe('a node without state overrides', () => {
  const refusing = () =>
    proxy((method, params) => (method === 'eth_call' && params.length > 2 ? tooManyArguments : 'pass'));

  test('is enough on 0.6, whose EntryPoint simulates itself, when a paymaster pays', async () => {
    const estimator = estimatorOver(await refusing());
    const { estimate } = await prepared('0.6');
    const limits = await estimate(estimator, await sponsoredData());
    expect(limits.callGasLimit).toBeGreaterThan(40_000n);
  });

  test.each(['0.7', '0.8', '0.9'] as const)('on %s the bundler is asked instead', async (version) => {
    const asked: unknown[] = [];
    const bundler = await proxy((method, params) => {
      asked.push([method, params[1]]);
      return {
        result: { callGasLimit: '0x1111', verificationGasLimit: '0x2222', preVerificationGas: '0x3333' },
      };
    });
    const { estimate } = await prepared(version);
    expect(await estimate(estimatorOver(await refusing(), bundler))).toEqual({
      callGasLimit: 0x1111n,
      verificationGasLimit: 0x2222n,
      preVerificationGas: 0x3333n,
    });
    expect(asked).toEqual([['eth_estimateUserOperationGas', devChain.deployments.entryPoints[version]]]);
  });

  test('that ignores overrides silently is noticed, too', async () => {
    const ignoring = await proxy((method, params) =>
      method === 'eth_call' ? { params: params.slice(0, 2) } : 'pass',
    );
    const { estimate } = await prepared('0.7');
    const error = await failureOf(estimate(estimatorOver(ignoring)));
    expect(isDomainError(error, 'ESTIMATION_FAILED')).toBe(true);
    expect(String(error)).toContain('no state overrides, and spec.bundlers names no bundler');
  });

  test.each([
    {
      name: 'a refusal is ESTIMATION_FAILED',
      code: -32500,
      message: 'AA23 reverted',
      want: 'ESTIMATION_FAILED',
    },
    { name: 'a failure is UNAVAILABLE', code: -32603, message: 'internal error', want: 'UNAVAILABLE' },
  ] as const)('the bundler’s words are passed on: $name', async ({ code, message, want }) => {
    const bundler = await proxy(() => ({ error: { code, message } }));
    const { estimate } = await prepared('0.7');
    const error = await failureOf(estimate(estimatorOver(await refusing(), bundler)));
    expect(isDomainError(error, want)).toBe(true);
    expect(String(error)).toContain(message);
  });

  test('a bundler that answers nonsense is UNAVAILABLE and says which field', async () => {
    const bundler = await proxy(() => ({ result: { callGasLimit: '0x1', verificationGasLimit: 'many' } }));
    const { estimate } = await prepared('0.7');
    const error = await failureOf(estimate(estimatorOver(await refusing(), bundler)));
    expect(isDomainError(error, 'UNAVAILABLE')).toBe(true);
    expect(String(error)).toContain('verificationGasLimit must be a hex quantity, got "many"');
  });
});

describe('a chain whose data fee only the bundler knows', () => {
  const asking = (url: string | undefined) =>
    estimatorOver(devChain.url, url, systemClock, { kind: 'Bundler' });
  const answering = (preVerificationGas: string) =>
    proxy(() => ({ result: { callGasLimit: '0x1', verificationGasLimit: '0x1', preVerificationGas } }));

  test.each([
    { name: 'above ours', figure: '0x123456', want: 0x123456n },
    { name: 'below ours, which stays', figure: '0x1', want: undefined },
  ])('has the bundler’s preVerificationGas and our other limits: $name', async ({ figure, want }) => {
    const { estimate } = await prepared('0.7');
    const ours = await estimate(estimatorOver(devChain.url));
    const limits = await estimate(asking(await answering(figure)));
    expect(limits).toEqual({ ...ours, preVerificationGas: want ?? ours.preVerificationGas });
  });

  test('is not estimated while the bundler fails, or where the Chain names none', async () => {
    const { estimate } = await prepared('0.7');
    const failing = await proxy(() => ({ error: { code: -32603, message: 'internal error' } }));
    expect(isDomainError(await failureOf(estimate(asking(failing))), 'UNAVAILABLE')).toBe(true);
    expect(String(await failureOf(estimate(asking(undefined))))).toContain('spec.bundlers names none');
  });
});

test('a node without block overrides simulates at its own time', async () => {
  const node = await proxy((method, params) =>
    method === 'eth_call' && params.length > 3 ? tooManyArguments : 'pass',
  );
  const { estimate } = await prepared('0.7');
  expect((await estimate(estimatorOver(node))).reverted).toBeUndefined();
});

test.each(['0.6', '0.7', '0.8', '0.9'] as const)(
  'on an idle chain contracts see the present, EntryPoint %s',
  async (version) => {
    const inHalfAnHour = (await devChain.time()) + 1_800;
    // Reverts while block.timestamp is below the constant.
    await install(`0x4263${inHalfAnHour.toString(16).padStart(8, '0')}11600b57005b60006000fd`);
    const { estimate } = await prepared(version, contract);
    const inAnHour: Clock = { now: () => (Date.now() + 3_600_000) as EpochMs };
    expect((await estimate(estimatorOver(devChain.url))).reverted).toBe('without a reason');
    expect((await estimate(estimatorOver(devChain.url, undefined, inAnHour))).reverted).toBeUndefined();
  },
);

test.each(['0.6', '0.7', '0.8', '0.9'] as const)(
  'an account whose validation wants more gas than it uses gets it, EntryPoint %s',
  async (version) => {
    const account = await buildAccount(devChain, version);
    // Reverts with less than 200,000 gas left, else writes a slot and returns 0: a valid signature.
    const code = '0x5a62030d40116018576001600055600060005260206000f35b60006000fd';
    await devChain.chain.request('anvil_setCode', [account.address, code]);
    const limits = await estimatorOver(devChain.url).estimate({
      paymasterId: 'pm-1',
      chainId: devChain.chainId,
      entryPoint: devChain.deployments.entryPoints[version],
      entryPointVersion: version,
      op: await buildUserOp(account, []),
      paymasterAndData: undefined,
      minVerificationGasLimit: 0n,
      most: defaultLimits,
    });
    expect(limits.verificationGasLimit).toBeGreaterThan(200_000n);
    expect(limits.verificationGasLimit).toBeLessThan(600_000n);
  },
);

test('a node that gives eth_call 500,000 gas is not enough, and that is said', async () => {
  const gas = '0x7a120';
  const node = await proxy((method, params) =>
    method === 'eth_call' ? { params: [{ ...Object(params[0]), gas }, ...params.slice(1)] } : 'pass',
  );
  const { estimate } = await prepared('0.7');
  const error = await failureOf(estimate(estimatorOver(node)));
  expect(isDomainError(error, 'ESTIMATION_FAILED')).toBe(true);
  expect(String(error)).toContain('too little gas');
});

function estimatorOver(
  url: string,
  bundler?: string,
  clock: Clock = systemClock,
  dataFee: DataFeeSpec = { kind: 'None' },
): GasEstimator {
  return createGasEstimator({
    chains: devChain.chains,
    endpoint: () => ({
      rpc: { urls: [url] },
      dataFee,
      ...(bundler === undefined ? {} : { bundlers: { urls: [bundler] } }),
    }),
    clock,
    log: silentLogger,
  });
}

async function prepared(
  version: EntryPointVersion,
  to: Hex = devChain.deployments.sponsoredContract.address,
) {
  const account = await buildAccount(devChain, version);
  const op = await buildUserOp(account, [{ to, data: encodeWith(counter, 'increment', []) }]);
  const request: Omit<EstimateRequest, 'paymasterAndData'> = {
    paymasterId: 'pm-1',
    chainId: devChain.chainId,
    entryPoint: devChain.deployments.entryPoints[version],
    entryPointVersion: version,
    op,
    minVerificationGasLimit: 0n,
    most: defaultLimits,
  };
  const estimate = (estimator: GasEstimator, paymasterAndData?: Hex) =>
    estimator.estimate({ ...request, paymasterAndData });
  return { estimate };
}

async function sponsoredData(): Promise<Hex> {
  const account = await buildAccount(devChain, '0.6');
  const terms = await buildTerms(devChain, devChain.profile('1.1.0'));
  return layouts['vendor-1.1.0'].sponsorship.encode(await buildUserOp(account, []), terms, stubSignature());
}

async function install(code: Hex): Promise<void> {
  await devChain.chain.request('anvil_setCode', [contract, code]);
  await devChain.chain.request('anvil_setStorageAt', [contract, '0x0', `0x${'00'.repeat(32)}`]);
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('expected a failure');
}
