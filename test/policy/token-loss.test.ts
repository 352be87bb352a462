import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createSqliteUsageStore } from '../../core/adapters/store/sqlite/usage.js';
import { silentLogger } from '../../core/log.js';
import { tokenLossShares } from '../../core/policy/token-loss.js';
import type { ReserveResult, UsageStore } from '../../core/policy/usage-store.js';
import { toSeconds } from '../../core/units/time.js';
import { gwei } from '../../core/units/wei.js';
import { aHash, aRequest, chainId, contract, hourMs, sender } from '../conformance/usage-requests.js';
import { aClock, aDirectory } from '../usage/sqlite-usage.js';

const dayMs = 24 * hourMs;
const reserved = { outcome: 'reserved' };

let clock: ReturnType<typeof aClock>;
let usage: UsageStore;
let nonce: bigint;
let stop: () => Promise<void>;

beforeEach(() => {
  clock = aClock();
  const directory = aDirectory();
  usage = createSqliteUsageStore({
    path: `${directory.path}/usage.db`,
    clock,
    log: silentLogger,
    durability: 'process',
  });
  nonce = 0n;
  stop = async () => {
    await usage.stop();
    directory.remove();
  };
});
afterEach(() => stop());

function aPayment(onChain = chainId) {
  nonce += 1n;
  return aRequest({
    key: { chainId: onChain, nonce },
    mode: 'ERC20',
    limits: tokenLossShares({ chainId: onChain, contract }, sender, {
      budget: gwei(100_000_000),
      now: clock.now(),
    }),
    validUntil: toSeconds(clock.now()),
  });
}

const ask = (onChain?: number): Promise<ReserveResult> => usage.reserve(aPayment(onChain));

/** A payment of the account was promised, mined, and paid nothing. */
async function lose(): Promise<void> {
  const { key, ...request } = aPayment();
  expect(await usage.reserve({ key, ...request })).toEqual(reserved);
  const expected = await usage.cursor(chainId);
  const next = { blockNumber: 1, blockHash: aHash(1), timestamp: toSeconds(clock.now()) };
  const settled = [{ key, actualCost: gwei(50) }];
  expect(await usage.advance({ chainId, expected, next, settled, released: [], balances: [] })).toBe(true);
}

describe('an account whose operation was mined and paid no token', () => {
  test.each([0, 6, 12, 18, 24, 30, 36, 42])(
    'in hour %i is barred for a day at least, and until the moment that it is told',
    async (hour) => {
      clock.advance(hour * hourMs);
      await lose();
      const lostAt = clock.now();
      const refusal = await ask();
      expect(refusal).toMatchObject({ outcome: 'limit' });
      const resetsAt = 'resetsAt' in refusal ? refusal.resetsAt : 0;
      expect(resetsAt - lostAt).toBeGreaterThanOrEqual(dayMs);
      expect(resetsAt - lostAt).toBeLessThanOrEqual(2 * dayMs);
      clock.advance(resetsAt - lostAt - 1);
      expect(await ask()).toMatchObject({ outcome: 'limit', resetsAt });
      clock.advance(1);
      expect(await ask()).toEqual(reserved);
    },
  );

  test('is barred by that contract, and not by one of the same address on another chain', async () => {
    await lose();
    expect(await ask()).toMatchObject({ outcome: 'limit' });
    expect(await ask(chainId + 1)).toEqual(reserved);
  });
});
