import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { SqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import type { ReserveResult } from '../../../core/usage/reserve-request.js';
import { gwei } from '../../../core/units/wei.js';
import { aLimit, aNeed, aRequest, chainId, contract } from '../../conformance/usage-requests.js';
import { aClock } from './clock.js';
import { aDirectory, createFaultyStore } from './sqlite-usage.js';

// A caller that pushes a request goes on within the store's turn. What it does there must find the rows of the commit, and may harm no other call.

let directory: ReturnType<typeof aDirectory>;
let store: SqliteUsageStore;
let fail: ReturnType<typeof createFaultyStore>['fail'];
let clock: ReturnType<typeof aClock>;
beforeEach(() => {
  directory = aDirectory();
  clock = aClock();
  ({ store, fail } = createFaultyStore(`${directory.path}/usage.db`, clock));
});
afterEach(async () => {
  await store.stop();
  directory.remove();
});

const threshold = 5;
const limits = [aLimit({ threshold })];
const anOperation = (nonce: number) => aRequest({ key: { nonce: BigInt(nonce) }, limits });
const counted = async (): Promise<number> => {
  const [counter] = await store.counters(chainId, limits);
  return counter!.reserved;
};
/** The first call about a chain waits until its epoch is known; no later one does. */
const begun = () => store.reserve(anOperation(0));

describe('a caller that goes on within a turn', () => {
  test('finds all that the turn has reserved, after a reservation, a refusal and an error', async () => {
    await begun();
    const asked = [
      ...Array.from({ length: threshold }, (_, nth) => anOperation(nth + 1)),
      aRequest({ key: { nonce: 90n }, accounts: [aNeed(1)] }),
    ].map((request) => store.push(request).then(counted, counted));
    expect(await Promise.all(asked)).toEqual(asked.map(() => threshold));
  });

  test('may ask for more, and everything that passes stays within the limit', async () => {
    await begun();
    const answers: ReserveResult[] = [];
    const ask = (nonce: number): PromiseLike<unknown> =>
      store.push(anOperation(nonce)).then((result) => {
        answers.push(result);
        return nonce < 100 ? ask(nonce + 10) : undefined;
      });
    await Promise.all(Array.from({ length: 10 }, (_, nth) => ask(nth + 1)));
    expect(answers).toHaveLength(9 * 11 + 10);
    expect(answers.filter(({ outcome }) => outcome === 'reserved')).toHaveLength(threshold - 1);
    expect(await counted()).toBe(threshold);
    expect(await store.liveCount(chainId)).toBe(threshold);
  });

  test('and fails harms no call that is answered after it', async () => {
    await begun();
    const failing = store.push(anOperation(1)).then(() => {
      throw new Error('a fault of the caller');
    });
    const others = [2, 3].map((nonce) => store.push(anOperation(nonce)));
    await expect((async () => failing)()).rejects.toThrow('a fault of the caller');
    expect(await Promise.all(others)).toEqual(others.map(() => ({ outcome: 'reserved' })));
  });

  test('may give an account its balance when it is unknown, and ask again', async () => {
    await begun();
    const request = aRequest({ key: { nonce: 1n }, accounts: [aNeed(1)] });
    const again = store.push(request).then(undefined, async () => {
      await store.addBalance(chainId, {
        contract,
        balance: gwei(10),
        reserved: gwei(0),
        readAt: clock.now(),
      });
      return store.push(request);
    });
    expect(await again).toEqual({ outcome: 'reserved' });
  });

  test('after a commit that failed holds nothing: a refusal counts, and asking again is refused as unavailable', async () => {
    await begun();
    fail('before');
    const down = { code: 'UNAVAILABLE', details: { reason: 'USAGE_STORE_DOWN' } };
    const stale = aRequest({ key: { nonce: 2n }, generation: 0 });
    const refused = store.push(stale);
    const again = store.push(anOperation(1)).then(
      () => undefined,
      () => store.push(anOperation(1)),
    );
    await expect((async () => again)()).rejects.toMatchObject(down);
    expect(await refused).toMatchObject({ outcome: 'stale' });
  });
});
