import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { SqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import { aLimit, aNeed, aRequest, chainId } from '../../conformance/usage-requests.js';
import { aClock } from './clock.js';
import { aDirectory, createFaultyStore } from './sqlite-usage.js';

// What the embedded store promises a caller beyond the suite of usage stores: also a refused one goes on after the commit.

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
  test('finds all that the turn has reserved, after a refusal and an error, too', async () => {
    await begun();
    const asked = [
      ...Array.from({ length: threshold }, (_, nth) => anOperation(nth + 1)),
      aRequest({ key: { nonce: 90n }, accounts: [aNeed(1)] }),
    ].map((request) => store.push(request).then(counted, counted));
    expect(await Promise.all(asked)).toEqual(asked.map(() => threshold));
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
