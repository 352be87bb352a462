import { parseArgs } from 'node:util';
import { pathToFileURL } from 'node:url';
import { join, resolve } from 'node:path';
import { createServer } from 'node:http';
import { setTimeout as after } from 'node:timers/promises';
import { Interface } from 'ethers';
import { createChains } from '../../adapters/chain/chains.js';
import { createMetrics } from '../../adapters/metrics/prometheus.js';
import type { Chains } from '../../core/chain/chains.js';
import { createGasEstimator } from '../../adapters/estimator/estimator.js';
import { silentLogger } from '../../core/log.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { stubSignature } from '../../core/paymaster/signature.js';
import { systemClock } from '../../core/units/time.js';
import type { EstimateRequest, GasEstimator } from '../../core/userop/estimator.js';
import { buildAccount, encodeWith, type Call } from '../chain/support/account.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { handleOp } from '../chain/support/handle-ops.js';
import { buildTerms, buildUserOp, sponsorUserOp } from '../chain/support/user-op.js';

// What an estimate costs on a node that is 50 ms away: calls, calls in a row, and the median of its time; the first
// estimate of a kind is one of the rounds. With `--before <built checkout>` interleaved with the estimator of that build.
//
//   node dist/test/bench/estimates.js [--before ../main] [--rounds 15] [--delay 50]

const { values } = parseArgs({
  options: {
    before: { type: 'string' },
    rounds: { type: 'string', default: '15' },
    delay: { type: 'string', default: '50' },
  },
});
const delayMs = Number(values.delay);
const rounds = Number(values.rounds);
const abi = new Interface(['function increment()', 'function burn(uint256 rounds)']);

/** A node that answers late, and counts calls and how many of them were made one after the other. */
async function startSlowNode(url: string) {
  const seen = { calls: 0, inARow: 0, answered: 0 };
  const server = createServer((request, response) => {
    const depth = seen.answered + 1;
    seen.calls += 1;
    seen.inARow = Math.max(seen.inARow, depth);
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      void (async () => {
        await after(delayMs);
        const body = Buffer.concat(chunks);
        const headers = { 'content-type': 'application/json' };
        const answer = await fetch(url, { method: 'POST', headers, body });
        const text = await answer.text();
        seen.answered = Math.max(seen.answered, depth);
        response.end(text);
      })();
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the node has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    take: () => {
      const { calls, inARow } = seen;
      Object.assign(seen, { calls: 0, inARow: 0, answered: 0 });
      return { calls, inARow };
    },
    stop: () => new Promise((stopped) => server.close(stopped).closeAllConnections()),
  };
}

type Case = { readonly name: string; readonly request: EstimateRequest };

async function cases(devChain: DevChain): Promise<readonly Case[]> {
  const target = devChain.deployments.sponsoredContract.address;
  const call = (method: 'increment' | 'burn', ...args: readonly number[]): Call => ({
    to: target,
    data: encodeWith(abi, method, args),
  });
  const found: Case[] = [];
  for (const version of ['1.1.0', 'singleton-0.7', 'singleton-0.8'])
    for (const isDeployed of [true, false]) {
      const profile = devChain.profile(version);
      const account = await buildAccount(devChain, profile.entryPointVersion);
      const first = await buildUserOp(account, [call('increment')]);
      if (isDeployed)
        await handleOp(
          devChain,
          profile.entryPointVersion,
          await sponsorUserOp(devChain, profile, account, first),
        );
      const op = isDeployed ? await buildUserOp(account, [call('increment'), call('burn', 5)]) : first;
      const terms = await buildTerms(devChain, profile);
      const { sponsorship } = layouts[profile.layout];
      found.push({
        name: `${version}, ${isDeployed ? 'a batch of an existing account' : 'a call of a new account'}`,
        request: {
          paymasterId: 'bench',
          chainId: devChain.chainId,
          entryPoint: devChain.deployments.entryPoints[profile.entryPointVersion],
          entryPointVersion: profile.entryPointVersion,
          op,
          paymasterAndData: sponsorship.encode(op, terms, stubSignature()),
          minVerificationGasLimit: sponsorship.minVerificationGasLimit,
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

const devChain = await startDevChain();
const connections: Chains[] = [];
const node = await startSlowNode(devChain.url);
try {
  const estimators = (await builds()).map(({ name, createEstimator, connect }) => {
    const metrics = createMetrics({ process: false });
    const chains = connect({ log: silentLogger, clock: systemClock, metrics, timeoutMs: 10_000 });
    connections.push(chains);
    const estimator: GasEstimator = createEstimator({
      chains,
      endpoint: () => ({ rpc: { urls: [node.url] } }),
      clock: systemClock,
      log: silentLogger,
    });
    return { name, estimator };
  });
  for (const { name, request } of await cases(devChain)) {
    const times = new Map<string, number[]>();
    const calls = new Map<string, string>();
    for (let round = 0; round < rounds; round += 1)
      for (const { name: build, estimator } of estimators) {
        node.take();
        const started = performance.now();
        const limits = await estimator.estimate(request);
        times.set(build, [...(times.get(build) ?? []), performance.now() - started]);
        const { calls: count, inARow } = node.take();
        calls.set(
          build,
          `${count} calls, ${inARow} in a row (${limits.callGasLimit}, ${limits.verificationGasLimit})`,
        );
      }
    const medians = estimators.map(({ name: build }) => median(times.get(build) ?? []));
    const shown = estimators.map(
      ({ name: build }, index) => `${build}: p50 ${medians[index]?.toFixed(0)} ms, ${calls.get(build)}`,
    );
    const [first, last] = [medians[0] ?? 1, medians.at(-1) ?? 1];
    console.log(
      `${name}\n  ${shown.join('\n  ')}${estimators.length > 1 ? `\n  ratio ${(last / first).toFixed(2)}` : ''}`,
    );
  }
} finally {
  await Promise.all(connections.map((chains) => chains.stop()));
  await node.stop();
  await devChain.stop();
}
