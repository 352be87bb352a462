import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createMetrics } from '../../../adapters/metrics/prometheus.js';
import { createFollowerMeter } from '../../../server/follower/meter.js';
import { createInstruments } from '../../../server/ops/instruments.js';
import { chainId } from '../../conformance/usage-requests.js';
import { aFollowed, anOperation, aPromise, signedBytes, usedOf, type Followed } from './followed.js';

const aDayMs = 86_400_000;

let it: Followed;
beforeEach(async () => {
  it = await aFollowed();
});
afterEach(() => it.stop());

const cursor = () => it.usage.cursor(chainId);

/** One operation is settled at 40 gwei. */
async function settledOne(): Promise<void> {
  await it.usage.reserve(aPromise(100));
  it.chain.mine({ operations: [anOperation(40)] });
  it.pass(3);
  await it.follower.round();
  expect(await usedOf(it)).toEqual([1, 40]);
}

describe.each([
  { name: 'by the process that settled it', of: () => it.follower },
  { name: 'by one that remembers nothing', of: () => it.create() },
])('a node that does not show the settled block is waited for $name', ({ of }) => {
  test.each([
    { name: 'because it lags by hours', lag: (behind: number) => void (it.chain.shown = behind) },
    {
      name: 'because it lacks just that block',
      lag: (_: number, block: number) => void it.chain.missing.add(block),
    },
  ])('$name', async ({ lag }) => {
    await settledOne();
    const before = await cursor();
    const follower = of();
    it.pass(5);
    lag(before!.blockNumber - 2, before!.blockNumber);
    for (let days = 0; days < 3; days++) {
      expect(await follower.round()).toMatchObject({ waitsAt: before, restored: 0, settled: 0 });
      it.clock.advance(aDayMs);
    }
    expect(await cursor()).toEqual(before);
    expect(await usedOf(it)).toEqual([1, 40]);
    expect(it.lines.filter(({ message }) => message.startsWith('node lags'))).toHaveLength(1);

    it.chain.shown = undefined;
    it.chain.missing.clear();
    it.pass(1);
    await follower.round();
    expect((await cursor())?.blockNumber).toBe(it.chain.height - 2);
    expect(await usedOf(it)).toEqual([1, 40]);
    expect(await it.usage.suspended(chainId)).toEqual([]);
  });
});

test('the lag is the time since settlement last caught up, whatever the age of the blocks', async () => {
  const metrics = createMetrics({ process: false });
  const meter = createFollowerMeter(createInstruments(metrics), it.usage, it.clock);
  const shown = async (name: string) =>
    Number(new RegExp(`^${name}{chain="${chainId}"} (.*)$`, 'm').exec((await metrics.render()).body)?.[1]);
  const lag = () => shown('paymaster_follower_lag_seconds');
  const round = async () => meter.round(chainId, await it.follower.round(), it.follower.head);
  await settledOne();
  await round();
  expect(await lag()).toBe(0);

  // A quiet chain: its node answers, and there is nothing to settle.
  it.clock.advance(aDayMs);
  await round();
  expect(await lag()).toBe(0);
  expect(await shown('paymaster_chain_head_age_seconds')).toBeGreaterThan(aDayMs / 2000);

  it.chain.isDown = true;
  it.clock.advance(400_000);
  await expect(it.follower.round()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  meter.failure(chainId, it.follower.head);
  expect(await lag()).toBe(400);
  it.chain.isDown = false;
  await round();
  expect(await lag()).toBe(0);

  // A node that lacks the settled block.
  it.pass(50);
  it.chain.missing.add((await cursor())!.blockNumber);
  it.clock.advance(100_000);
  await round();
  expect(await lag()).toBeGreaterThanOrEqual(100);
  it.chain.missing.clear();
  await round();
  expect(await lag()).toBe(0);
  // From here on another replica follows the chain.
  it.clock.advance(100_000);
  meter.observed(chainId, it.follower.head, true);
  expect(await lag()).toBe(0);
});

describe('a chain that is shorter than the settled height', () => {
  test('is another chain if it has a different block at a remembered height', async () => {
    await settledOne();
    it.pass(8);
    await it.follower.round();
    const settled = it.chain.height - 2;
    it.chain.reorganise(4);
    it.pass(3);
    expect(it.chain.height).toBeLessThan(settled);
    expect(await it.follower.round()).toMatchObject({ cursor: { blockNumber: 2 }, restored: 1 });
  });

  test('is another chain if its time is later, also for a follower that remembers nothing', async () => {
    it.pass(20);
    await it.follower.round();
    it.chain.reorganise(6);
    it.chain.mine({ time: it.chain.time + 500 });
    it.chain.mineEmpty(2);
    await it.createForgetful().round();
    expect((await cursor())?.blockNumber).toBe(it.chain.height - 2);
  });

  test('is waited for without a proof either way, and then followed', async () => {
    it.pass(20);
    await it.follower.round();
    const before = await cursor();
    it.chain.reorganise(6);
    const follower = it.createForgetful();
    it.clock.advance(aDayMs);
    expect(await follower.round()).toMatchObject({ waitsAt: before });
    it.pass(30);
    await follower.round();
    expect((await cursor())?.blockNumber).toBe(it.chain.height - 2);
  });
});

test('a step back needs every block that is compared: a node that lacks one is asked again', async () => {
  await it.usage.reserve(aPromise(100));
  const before = it.chain.height;
  it.pass(3);
  await it.follower.round();
  it.chain.mine({ operations: [anOperation(40)] });
  it.pass(3);
  await it.follower.round();
  it.chain.reorganise(before + 2);
  it.pass(6);
  it.chain.missing.add(before + 1);
  await expect(it.follower.round()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(await usedOf(it)).toEqual([1, 40]);
  it.chain.missing.clear();
  expect(await it.follower.round()).toMatchObject({ restored: 1, cursor: { blockNumber: before + 1 } });
});

test('an operation that a rescan shows once more is not charged to a later promise for its nonce', async () => {
  const [first, second] = [signedBytes('SPONSORED', 1), signedBytes('SPONSORED', 2)];
  await it.usage.reserve(aPromise(100, { promise: { digest: first.digest } }));
  it.chain.mine({ operations: [anOperation(40, { input: first.input })] });
  const { height } = it.chain;
  it.pass(3);
  await it.follower.round();
  // Anybody can ask again for a nonce that is used.
  await it.usage.reserve(aPromise(100, { promise: { digest: second.digest } }));
  expect(await usedOf(it)).toEqual([2, 140]);
  it.chain.reorganise(height);
  it.pass(4);
  const restarted = it.createForgetful();
  expect(await restarted.round()).toMatchObject({ settled: 0, unattributed: 0 });
  expect(it.lines.map(({ message }) => message)).toContain(
    'chain is scanned again from before the settled block',
  );
  expect(await usedOf(it)).toEqual([1, 40]);
  expect(await it.usage.suspended(chainId)).toEqual([]);
});
