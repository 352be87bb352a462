import { beforeEach, describe, expect, test } from '@jest/globals';
import { ChainLedger } from '../../../core/usage/ledger.js';
import { joined, withPromise, type Promises } from '../../../core/usage/promises.js';
import { keptPromises } from '../../../core/usage/usage-store.js';
import type { EpochMs } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import {
  aDigest,
  aHash,
  aHold,
  aKey,
  aLimit,
  anAddress,
  aNeed,
  anHour,
  aRequest,
  aSignedPromise,
  aSpend,
  chainId,
  contract,
  hourMs,
  seconds,
  startMs,
} from '../../conformance/usage-requests.js';

const noStep = { settled: [], released: [], forfeited: [], charges: [], restored: [], balances: [] };
const reserved = { outcome: 'reserved' };

let ledger: ChainLedger;
let rows: number;
beforeEach(() => {
  rows = 0;
  ledger = new ChainLedger(chainId, () => (rows += 1));
});

/** What would be stored now, in short; undefined for nothing. */
function stored() {
  const changes = ledger.takeChanges();
  if (changes === undefined) return undefined;
  return {
    reservations: changes.reservations.map(({ row }) => row),
    ended: changes.ended,
    counters: [...changes.counters].map(({ counter, used }) => [counter, used]),
    accounts: [...changes.accounts].map(({ balance }) => balance),
    fences: [...changes.fences].map(({ id, generation }) => [id, generation]),
  };
}
const nothing = { reservations: [], ended: [], counters: [], accounts: [], fences: [] };

describe('what has to be stored', () => {
  const one = (nonce: bigint, cost = 1) =>
    aRequest({ key: { nonce }, fences: [], limits: [aSpend(cost)], holds: [aHold(cost)] });

  test('of a reservation is its row alone, once per turn however often it is raised', () => {
    for (const cost of [1, 5, 9]) expect(ledger.reserve(one(1n, cost), startMs)).toEqual(reserved);
    ledger.reserve(one(2n), startMs);
    expect(stored()).toEqual({ ...nothing, reservations: [1, 2] });
    expect(stored()).toBeUndefined();
    ledger.reserve(one(1n, 12), startMs);
    expect(stored()).toEqual({ ...nothing, reservations: [1] });
  });

  test('of a refusal is nothing but a newer generation', () => {
    const full = aRequest({ limits: [aLimit({ threshold: 0 })] });
    expect(ledger.reserve(full, startMs)).toMatchObject({ outcome: 'limit' });
    expect(stored()).toEqual({
      ...nothing,
      fences: [
        ['pm-1', 1],
        ['chain', 1],
      ],
    });
    ledger.reserve(full, startMs);
    expect(stored()).toBeUndefined();
  });

  test('of a settlement is the use of its limits; holds leave nothing behind', () => {
    ledger.reserve(one(1n, 7), startMs);
    ledger.takeChanges();
    const next = { blockNumber: 1, blockHash: aHash(1), timestamp: seconds(1) };
    const settled = [{ key: aKey({ nonce: 1n }), actualCost: gwei(3) }];
    expect(ledger.advance({ chainId, expected: undefined, next, ...noStep, settled })).toMatchObject({
      isTaken: true,
    });
    expect(stored()).toEqual({ ...nothing, ended: [1], counters: [['spend-1', 3]] });
    expect(ledger.counters.find(aHold(0))).toBeUndefined();
  });

  test('raises the sequence by one each time', () => {
    ledger.reserve(one(1n), startMs);
    ledger.reserve(one(2n), startMs);
    ledger.takeChanges();
    ledger.takeChanges();
    ledger.noteGenerations([{ id: 'pm-1', generation: 1 }], startMs);
    ledger.takeChanges();
    expect(ledger.sequence).toBe(2);
  });

  test('is nothing for a step that does not fit the cursor', () => {
    const next = { blockNumber: 1, blockHash: aHash(1), timestamp: seconds(1) };
    expect(ledger.advance({ chainId, expected: next, next, ...noStep })).toEqual({ isTaken: false });
    expect(stored()).toBeUndefined();
  });
});

describe('amounts', () => {
  test('a share of a balance of 2^53 - 1 is exact, rounded down', () => {
    const most = Number.MAX_SAFE_INTEGER;
    ledger.setBalance({ contract }, gwei(most), startMs);
    for (const percent of [1, 25, 33, 99, 100]) {
      const exact = Number((BigInt(most) * BigInt(percent)) / 100n);
      const request = (cost: number) =>
        aRequest({
          fences: [],
          holds: [aHold(cost, { threshold: { account: 0, percent } })],
          accounts: [aNeed(1)],
        });
      expect(ledger.peek(request(exact), startMs).result).toEqual(reserved);
      if (percent < 100)
        expect(ledger.peek(request(exact + 1), startMs).result).toMatchObject({
          outcome: 'held',
          most: exact,
        });
    }
  });

  test.each([
    { name: 'limit', request: { limits: [aLimit(), aLimit()] } },
    { name: 'hold', request: { holds: [aHold(1), aHold(2)] } },
    { name: 'account', request: { accounts: [aNeed(1), aNeed(2)] } },
  ])('a $name that is named twice is a mistake, since each would be judged without the other', (of) => {
    ledger.setBalance({ contract }, gwei(1000), startMs);
    expect(() => ledger.reserve(aRequest(of.request), startMs)).toThrow(
      expect.objectContaining({ code: 'INTERNAL' }),
    );
    expect(ledger.reservations.size).toBe(0);
  });
});

describe('forgetting', () => {
  const settledOf = (n: number) => ({
    counter: `c-${n}`,
    unit: 'COUNT' as const,
    until: anHour().until,
    amount: 1,
  });

  test('goes through ended windows in pieces, ten minutes after their end', () => {
    const charges = Array.from({ length: 7 }, (_, n) => settledOf(n));
    const next = { blockNumber: 1, blockHash: aHash(1), timestamp: seconds(1) };
    ledger.advance({ chainId, expected: undefined, next, ...noStep, charges });
    ledger.takeChanges();
    const later = (startMs + hourMs + 600_000) as EpochMs;
    expect(ledger.forget(later, 3)).toBe(false);
    expect(stored()).toBeUndefined();
    const after = (later + 1) as EpochMs;
    expect([1, 2, 3].map(() => ledger.forget(after, 3))).toEqual([true, true, false]);
    expect(stored()?.counters).toEqual(charges.map(({ counter }) => [counter, 0]));
    expect(charges.map((charge) => ledger.counters.find(charge))).toEqual(charges.map(() => undefined));
  });

  test('lets go of ended windows when an operation is promised again, so that it does not grow with time', () => {
    const limits = (hour: number) =>
      ['a', 'b'].map((name) => aLimit({ counter: `${name}/${hour}`, window: anHour(hour) }));
    for (let hour = 0; hour < 200; hour++) {
      const now = (startMs + hour * hourMs) as EpochMs;
      const promise = { validUntil: seconds((hour + 2) * 3600) };
      expect(ledger.reserve(aRequest({ limits: limits(hour), promise }), now)).toEqual(reserved);
      expect(ledger.find(aKey())?.limits.length).toBeLessThanOrEqual(4);
    }
    expect(ledger.counters.find(limits(0)[0]!)).toBeUndefined();
    expect(ledger.counters.state(limits(199)[0]!)).toEqual({ used: 0, reserved: 1 });
    // With a clock that is set back by more than ten minutes its use is unknown.
    const back = aRequest({ key: { nonce: 1n }, limits: limits(150) });
    expect(ledger.reserve(back, anHour(150).from)).toEqual({ outcome: 'usage-lost', index: 0 });
  });

  test('leaves a counter that a reservation still holds, until it ends', () => {
    const limits = [aLimit({ ...settledOf(1), window: anHour(), threshold: 9 })];
    ledger.reserve(aRequest({ limits }), startMs);
    ledger.charge(ledger.counters.of(settledOf(1)), 4, anHour().until);
    const after = (startMs + 3 * hourMs) as EpochMs;
    ledger.forget(after, 9);
    expect(ledger.counters.state(settledOf(1))).toEqual({ used: 4, reserved: 1 });
    ledger.end(ledger.find(aKey())!);
    ledger.forget(after, 9);
    expect(ledger.counters.find(settledOf(1))).toBeUndefined();
    expect(ledger.forgottenUntil).toBe(after - 600_000);
  });
});

describe('promises', () => {
  const none: Promises = { promises: [], folded: [] };
  const made = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => aSignedPromise({ digest: aDigest(from + i) }));
  const all = (from: number, to: number) => made(from, to).reduce(withPromise, none);

  test('of two records of one reservation are all kept, those of the second as the newer ones', () => {
    const both = joined(all(0, 3), all(2, 6));
    expect(both.promises.map(({ digest }) => digest)).toEqual([5, 4, 3, 2, 1, 0].map(aDigest));
    expect(both.folded).toEqual([]);
  });

  test('that are too many together fold, and what was folded stays', () => {
    const old = {
      ...all(0, keptPromises),
      folded: [{ mode: 'ERC20' as const, contract, prefundWei: 5n, validUntil: seconds(1) }],
    };
    const both = joined(old, all(100, 103));
    expect(both.promises).toHaveLength(keptPromises);
    const { mode, prefundWei, validUntil } = aSignedPromise();
    expect(both.folded).toEqual([old.folded[0], { mode, contract, prefundWei, validUntil }]);
  });
});

test('a reservation that is restored over one of another account adds its need to that account', () => {
  ledger.setBalance({ contract }, gwei(100), startMs);
  ledger.reserve(aRequest({ accounts: [aNeed(10)] }), startMs);
  const other = anAddress(0xc9);
  const [validUntil, need] = [seconds(900), gwei(30)];
  ledger.restore({
    key: aKey(),
    promises: [],
    folded: [],
    validUntil,
    limits: [],
    holds: [],
    accounts: [
      { contract, need },
      { contract: other, need },
    ],
  });
  expect(ledger.balance({ contract })).toMatchObject({ balance: 100, reserved: 30 });
  expect(ledger.balance({ contract: other })).toMatchObject({ balance: undefined, reserved: 30 });
  expect([...ledger.reservations.expired(seconds(900))]).toEqual([]);
  ledger.end(ledger.find(aKey())!);
  expect(ledger.balance({ contract })).toMatchObject({ reserved: 0 });
  expect([...ledger.accounts.all()].map((account) => account.contract)).toEqual([contract]);
});
