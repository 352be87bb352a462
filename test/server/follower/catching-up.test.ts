import { beforeEach, expect, test } from '@jest/globals';
import { anAddress, chainId } from '../../conformance/usage-requests.js';
import { aFollowed, anOperation, aPromise, usedOf, type Followed } from './followed.js';

// Everything that happened while no follower ran is settled in steps of a bounded size.

let it: Followed;
beforeEach(async () => {
  it = await aFollowed();
});

/** Mines this many operations that nobody here has promised, so many in each block. */
function mineStrange(count: number, perBlock: number): void {
  for (let n = 0; n < count; n += perBlock)
    it.chain.mine({
      operations: Array.from({ length: perBlock }, (_, i) =>
        anOperation(0, { sender: anAddress(0x10000 + n + i) }),
      ),
    });
}

test('blocks are settled 10,000 at a time, and balances are unknown until the head is reached', async () => {
  await it.usage.reserve(aPromise(100));
  it.chain.mineEmpty(10_500);
  it.chain.mine({ operations: [anOperation(40)] });
  it.chain.mineEmpty(2);
  const start = (await it.usage.cursor(chainId))!.blockNumber;
  expect(await it.follower.round()).toMatchObject({ settled: 0, released: 0, isComplete: false });
  expect((await it.usage.cursor(chainId))?.blockNumber).toBe(start + 10_000);
  const fresh = { ...aPromise(1, { key: { nonce: 1n } }), depositMaxAgeMs: 900_000 };
  await expect(it.usage.reserve(fresh)).rejects.toMatchObject({ details: { reason: 'DEPOSIT_UNKNOWN' } });
  expect(await it.follower.round()).toMatchObject({ settled: 1, isComplete: true });
  expect(await it.usage.reserve(fresh)).toEqual({ outcome: 'reserved' });
});

test('operations are settled 2,000 at a time, and whole blocks', async () => {
  await it.usage.reserve(aPromise(100));
  mineStrange(4_500, 1_500);
  it.chain.mine({ operations: [anOperation(40)] });
  it.chain.mineEmpty(2);
  const blocks: number[] = [];
  for (let isComplete = false; !isComplete;) {
    const round = await it.follower.round();
    isComplete = round.isComplete;
    blocks.push(round.unattributed);
  }
  // One more block would exceed the bound; the last step holds the operation and the blocks after it.
  expect(blocks).toEqual([1_500, 1_500, 1_500]);
  expect(await usedOf(it)).toEqual([1, 40]);
});
