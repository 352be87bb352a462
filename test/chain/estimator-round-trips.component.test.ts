import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { createGasEstimator } from '../../adapters/estimator/estimator.js';
import { silentLogger } from '../../core/log.js';
import type { EntryPointVersion } from '../../core/entry-point/version.js';
import type { Hex } from '../../core/units/hex.js';
import { systemClock } from '../../core/units/time.js';
import type { Estimate, EstimateRequest, GasEstimator } from '../../core/userop/estimator.js';
import { buildAccount, encodeWith, type TestAccount } from './support/account.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { createNodes, startInRounds } from './support/nodes.js';
import { buildUserOp } from './support/user-op.js';

const abi = new Interface(['function increment()', 'function fail()', 'function burn(uint256 rounds)']);
const versions = ['0.6', '0.7', '0.8', '0.9'] as const satisfies readonly EntryPointVersion[];
/** Reverts with less than 120,000 gas left, else writes a slot. */
const wantsMuchGas: Hex = '0x5a6201d4c011600f576001600055005b60006000fd';
/** The limits found, four times with a higher callGasLimit, three times with a higher verificationGasLimit. */
const withRaised = 8;
const contract: Hex = `0x${'c1'.repeat(20)}`;

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
    // The operation with plenty of gas, without its call, and with the limits to expect.
    node.plan(2, withRaised);
    const first = await estimator.estimate(await aRequest(account, 'burn', 5));
    node.plan(3);
    expect(await estimator.estimate(await aRequest(account, 'burn', 5))).toEqual(first);
    // As long, to the same contract, with other needs: the expected gas is too little.
    node.plan(3, withRaised);
    const heavier = await estimator.estimate(await aRequest(account, 'burn', 40));
    expect(heavier.callGasLimit).toBeGreaterThan(first.callGasLimit);
    // What was expected is more than the limits that are found.
    node.plan(3, withRaised);
    expect(await estimator.estimate(await aRequest(account, 'burn', 5))).toEqual(first);
    expect(node.isDone()).toBe(true);
  });

  test('limits that were too low are raised in the round trip that confirms them', async () => {
    await devChain.chain.request('anvil_setCode', [contract, wantsMuchGas]);
    await devChain.chain.request('anvil_setStorageAt', [contract, '0x0', `0x${'00'.repeat(32)}`]);
    const node = await startInRounds(nodes);
    const account = await buildAccount(devChain, version);
    node.plan(2, withRaised);
    const limits = await estimatorOver(node.url).estimate(await aRequest(account, 'increment', contract));
    expect(limits.callGasLimit).toBeGreaterThan(120_000n);
    expect(limits.callGasLimit).toBeLessThan(300_000n);
    expect(node.isDone()).toBe(true);
  });

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

function estimatorOver(url: string): GasEstimator {
  return createGasEstimator({
    chains: devChain.chains,
    endpoint: () => ({ rpc: { urls: [url] } }),
    clock: systemClock,
    log: silentLogger,
  });
}

async function aRequest(
  account: TestAccount,
  method: 'increment' | 'fail' | 'burn',
  argument?: number | Hex,
): Promise<EstimateRequest> {
  const to = typeof argument === 'string' ? argument : devChain.deployments.sponsoredContract.address;
  const data = encodeWith(abi, method, typeof argument === 'number' ? [argument] : []);
  return {
    paymasterId: 'pm-1',
    chainId: devChain.chainId,
    entryPoint: devChain.deployments.entryPoints[account.version],
    entryPointVersion: account.version,
    op: await buildUserOp(account, [{ to, data }]),
    paymasterAndData: undefined,
    minVerificationGasLimit: 0n,
  };
}
