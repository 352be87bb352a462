import { parseArgs } from 'node:util';
import { pathToFileURL } from 'node:url';
import { join, resolve } from 'node:path';
import { Interface } from 'ethers';
import { createChains } from '../../adapters/chain/chains.js';
import { createMetrics } from '../../adapters/metrics/prometheus.js';
import { createGasEstimator } from '../../adapters/estimator/estimator.js';
import { silentLogger } from '../../core/log.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { stubSignature } from '../../core/paymaster/signature.js';
import { parseAddress } from '../../core/units/address.js';
import { systemClock } from '../../core/units/time.js';
import type { EstimateRequest, GasEstimator } from '../../core/userop/estimator.js';
import { defaultLimits } from '../build/default-limits.js';
import { buildAccount, encodeWith, type Call } from '../chain/support/account.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { handleOp } from '../chain/support/handle-ops.js';
import { buildTerms, buildUserOp, sponsorUserOp } from '../chain/support/user-op.js';
import { startAltoEstimates } from './alto-estimates.js';
import { startSlowNode, type SlowNode } from './slow-node.js';

// What an estimate costs on a node that is 50 ms away: calls, calls in a row, and the median of its time; the first
// estimate of a kind is one of the rounds, or with `--first` every one is the first of its kind. With `--before <built
// checkout>` interleaved with the estimator of that build.
//
// With `--alto <alto.js>` beside the calls of that bundler for the same operations.
//
//   node dist/test/bench/estimates.js [--before ../main] [--alto hack/bundler/node_modules/@pimlico/alto/esm/cli/alto.js]
//     [--rounds 15] [--delay 50] [--first]

const { values } = parseArgs({
  options: {
    before: { type: 'string' },
    rounds: { type: 'string', default: '15' },
    delay: { type: 'string', default: '50' },
    alto: { type: 'string' },
    first: { type: 'boolean', default: false },
  },
});
const delayMs = Number(values.delay);
const rounds = Number(values.rounds);
const abi = new Interface(['function increment()', 'function burn(uint256 rounds)']);

/** Revert with less gas left, so that callGasLimit has to be raised; they write nothing, so that it stays so. */
const greedy = {
  'a call that wants gas left': {
    address: `0x${'c1'.repeat(20)}`,
    code: '0x5a6201d4c011600d57005b60006000fd',
  },
  'a call that wants two million gas left': {
    address: `0x${'c2'.repeat(20)}`,
    code: '0x5a621e848011600d57005b60006000fd',
  },
} as const;
const kinds = ['a batch of an existing account', 'a call of a new account', ...Object.keys(greedy)];

type Case = { readonly name: string; readonly request: EstimateRequest };

async function cases(devChain: DevChain): Promise<readonly Case[]> {
  const target = devChain.deployments.sponsoredContract.address;
  const call = (method: 'increment' | 'burn', ...args: readonly number[]): Call => ({
    to: target,
    data: encodeWith(abi, method, args),
  });
  for (const { address, code } of Object.values(greedy))
    await devChain.chain.request('anvil_setCode', [address, code]);
  const found: Case[] = [];
  for (const version of ['1.1.0', 'singleton-0.7', 'singleton-0.8'])
    for (const kind of kinds) {
      const isDeployed = kind !== 'a call of a new account';
      const profile = devChain.profile(version);
      const account = await buildAccount(devChain, profile.entryPointVersion);
      const first = await buildUserOp(account, [call('increment')]);
      if (isDeployed)
        await handleOp(
          devChain,
          profile.entryPointVersion,
          await sponsorUserOp(devChain, profile, account, first),
        );
      const target = Object.entries(greedy).find(([name]) => name === kind)?.[1].address;
      const calls: readonly Call[] =
        target === undefined
          ? [call('increment'), call('burn', 5)]
          : [{ to: parseAddress(target), data: '0x' }];
      const op = isDeployed ? await buildUserOp(account, calls) : first;
      const terms = await buildTerms(devChain, profile);
      const { sponsorship } = layouts[profile.layout];
      found.push({
        name: `${version}, ${kind}`,
        request: {
          paymasterId: 'bench',
          chainId: devChain.chainId,
          entryPoint: devChain.deployments.entryPoints[profile.entryPointVersion],
          entryPointVersion: profile.entryPointVersion,
          op,
          paymasterAndData: sponsorship.encode(op, terms, stubSignature()),
          minVerificationGasLimit: sponsorship.minVerificationGasLimit,
          most: defaultLimits,
        },
      });
    }
  return found;
}

type Build = {
  readonly name: string;
  readonly createEstimator: typeof createGasEstimator;
  readonly connect: typeof createChains;
};

async function builds(): Promise<readonly Build[]> {
  const now = { name: 'now', createEstimator: createGasEstimator, connect: createChains };
  if (values.before === undefined) return [now];
  const adapters = join(resolve(values.before), 'dist/adapters');
  const load = (file: string): Promise<unknown> => import(pathToFileURL(join(adapters, file)).href);
  const estimator = (await load('estimator/estimator.js')) as {
    readonly createGasEstimator: typeof createGasEstimator;
  };
  const chain = (await load('chain/chains.js')) as { readonly createChains: typeof createChains };
  const before = { createEstimator: estimator.createGasEstimator, connect: chain.createChains };
  return [{ name: 'before', ...before }, now];
}

const median = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;

type Measured = { readonly name: string; readonly estimator: GasEstimator; readonly node: SlowNode };

const devChain = await startDevChain();
const stops: (() => Promise<unknown>)[] = [() => devChain.stop()];
try {
  const measured: Measured[] = [];
  for (const { name, createEstimator, connect } of await builds()) {
    const node = await startNode();
    const metrics = createMetrics({ process: false });
    const chains = connect({ log: silentLogger, clock: systemClock, metrics, timeoutMs: 10_000 });
    stops.push(() => chains.stop());
    const endpoint = () => ({ rpc: { urls: [node.url] } });
    const estimator = createEstimator({ chains, endpoint, clock: systemClock, log: silentLogger });
    measured.push({ name, estimator, node });
  }
  if (values.alto !== undefined) {
    const node = await startNode();
    const alto = await startAltoEstimates(resolve(values.alto), node.url);
    stops.push(() => alto.stop());
    measured.push({ name: 'alto', estimator: alto, node });
  }
  for (const each of await cases(devChain)) await measure(each, measured);
} finally {
  for (const stop of stops.toReversed()) await stop();
}

async function startNode(): Promise<SlowNode> {
  const node = await startSlowNode(devChain.url, delayMs);
  stops.push(() => node.stop());
  return node;
}

/** With bytes after the arguments, which accounts ignore: operations of another length are of another kind. */
function ofItsOwnKind(request: EstimateRequest, round: number): EstimateRequest {
  const callData = `${request.op.callData}${'00'.repeat(round + 1)}` as const;
  return { ...request, op: { ...request.op, callData } };
}

async function measure({ name, request }: Case, measured: readonly Measured[]): Promise<void> {
  const figures = measured.map(() => ({ times: [] as number[], calls: '' }));
  for (let round = 0; round < rounds; round += 1)
    for (const [index, { estimator, node }] of measured.entries()) {
      node.take();
      const started = performance.now();
      await estimator.estimate(values.first ? ofItsOwnKind(request, round) : request);
      const figure = figures[index];
      figure?.times.push(performance.now() - started);
      const { calls, inARow } = node.take();
      if (figure !== undefined) figure.calls = `${calls} calls, ${inARow} in a row`;
    }
  console.log(name);
  const [first] = figures;
  measured.forEach((each, index) => {
    const { times, calls } = figures[index] ?? { times: [], calls: '' };
    const ratio = (median(times) / median(first?.times ?? [])).toFixed(2);
    console.log(`  ${each.name}: p50 ${median(times).toFixed(0)} ms (ratio ${ratio}), ${calls}`);
  });
}
