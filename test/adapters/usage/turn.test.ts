import { beforeEach, describe, expect, test } from '@jest/globals';
import { MemoryRows } from '../../support/memory-rows.js';
import { joinPromises, withPromise, type Promises } from '../../../core/usage/promises.js';
import type { RowChanges } from '../../../core/usage/rows.js';
import type { Turn } from '../../../core/usage/turn.js';
import { keptPromises } from '../../../core/usage/reservation.js';
import type { ReserveRequest } from '../../../core/usage/reserve-request.js';
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

let rows: MemoryRows;
let written: RowChanges | undefined;
beforeEach(() => {
  rows = new MemoryRows(chainId);
  written = undefined;
});

/** One turn; {@link stored} shows what it has written. */
function turn<T>(decide: (turn: Turn) => T): T {
  written = undefined;
  return rows.turn(decide, (changes) => {
    written = changes;
  });
}

/** What the last turn has written, in short; undefined for nothing. */
function stored() {
  if (written === undefined) return undefined;
  const { reservations, ended, counters, accounts, fences } = written;
  return {
    reservations: reservations.map(({ key }) => key.nonce),
    ended: ended.map(({ nonce }) => nonce),
    counters: counters.map(({ counter, used, reserved, holders }) => [counter, used, reserved, holders]),
    accounts: accounts.map(({ balance }) => balance),
    fences: fences.map(({ id, generation }) => [id, generation]),
  };
}
const nothing = { reservations: [], ended: [], counters: [], accounts: [], fences: [] };

describe('what has to be stored', () => {
  const one = (nonce: bigint, cost = 1) =>
    aRequest({ key: { nonce }, fences: [], limits: [aSpend(cost)], holds: [aHold(cost)] });

  test('of a reservation is its row and what it holds, once per turn however often it is raised', () => {
    turn((step) => {
      for (const cost of [1, 5, 9]) expect(step.reserve(one(1n, cost), startMs)).toEqual(reserved);
      step.reserve(one(2n), startMs);
    });
    expect(stored()).toEqual({
      ...nothing,
      reservations: [1n, 2n],
      counters: [
        ['spend-1', 0, 10, 2],
        ['hold-1', 0, 10, 2],
      ],
    });
    turn((step) => step.reserve(one(1n, 12), startMs));
    expect(stored()).toMatchObject({ reservations: [1n] });
  });

  test('of a refusal is nothing but a newer generation', () => {
    const full = aRequest({ limits: [aLimit({ threshold: 0 })] });
    expect(turn((step) => step.reserve(full, startMs))).toMatchObject({ outcome: 'limit' });
    expect(stored()).toEqual({
      ...nothing,
      fences: [
        ['pm-1', 1],
        ['chain', 1],
      ],
    });
    turn((step) => step.reserve(full, startMs));
    expect(stored()).toBeUndefined();
  });

  test('of a settlement is the use of its limits; holds leave nothing behind', () => {
    turn((step) => step.reserve(one(1n, 7), startMs));
    const next = { blockNumber: 1, blockHash: aHash(1), timestamp: seconds(1) };
    const settled = [{ key: aKey({ nonce: 1n }), actualCost: gwei(3) }];
    expect(
      turn((step) => step.advance({ chainId, expected: undefined, next, ...noStep, settled })),
    ).toMatchObject({ isTaken: true });
    expect(stored()).toMatchObject({ ended: [1n], reservations: [] });
    expect([...rows.counters.values()]).toMatchObject([{ counter: 'spend-1', used: 3, reserved: 0 }]);
  });

  test('is nothing for a step that does not fit the cursor', () => {
    const next = { blockNumber: 1, blockHash: aHash(1), timestamp: seconds(1) };
    expect(turn((step) => step.advance({ chainId, expected: next, next, ...noStep }))).toEqual({
      isTaken: false,
    });
    expect(stored()).toBeUndefined();
  });

  test('never changes the rows that the turn was given', () => {
    turn((step) => {
      step.setBalance({ contract }, gwei(100), startMs);
      step.reserve({ ...one(1n, 7), accounts: [aNeed(5)] }, startMs);
    });
    const frozen = structuredClone([rows.counters, rows.accounts, rows.reservations, rows.chain]);
    const before = [new Map(rows.counters), new Map(rows.accounts), new Map(rows.reservations), rows.chain];
    turn((step) => {
      step.reserve({ ...one(1n, 9), accounts: [aNeed(8)] }, startMs);
      step.reserve(one(2n, 9), startMs);
      step.entries.end(step.entries.find(aKey({ nonce: 1n }))!);
    });
    expect(structuredClone(before)).toEqual(frozen);
  });
});

describe('amounts', () => {
  const peek = (request: ReserveRequest) => turn((one) => one.peek(request, startMs).result);

  test('a share of a balance of 2^53 - 1 is exact, rounded down', () => {
    const most = Number.MAX_SAFE_INTEGER;
    turn((one) => one.setBalance({ contract }, gwei(most), startMs));
    for (const percent of [1, 25, 33, 99, 100]) {
      const exact = Number((BigInt(most) * BigInt(percent)) / 100n);
      const request = (cost: number) =>
        aRequest({
          fences: [],
          holds: [aHold(cost, { threshold: { account: 0, percent } })],
          accounts: [aNeed(1)],
        });
      expect(peek(request(exact))).toEqual(reserved);
      if (percent < 100)
        expect(peek(request(exact + 1))).toMatchObject({
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
    turn((one) => one.setBalance({ contract }, gwei(1000), startMs));
    expect(() => turn((one) => one.reserve(aRequest(of.request), startMs))).toThrow(
      expect.objectContaining({ code: 'INTERNAL' }),
    );
    expect(rows.reservations.size).toBe(0);
  });
});

describe('forgetting', () => {
  const settledOf = (n: number) => ({
    counter: `c-${n}`,
    unit: 'COUNT' as const,
    until: anHour().until,
    amount: 1,
  });

  test('lets go of ended windows ten minutes after their end', () => {
    const charges = Array.from({ length: 7 }, (_, n) => settledOf(n));
    const next = { blockNumber: 1, blockHash: aHash(1), timestamp: seconds(1) };
    turn((one) => one.advance({ chainId, expected: undefined, next, ...noStep, charges }));
    const later = (startMs + hourMs + 600_000) as EpochMs;
    turn((one) => one.forget(charges, later));
    expect(stored()).toBeUndefined();
    turn((one) => one.forget(charges, (later + 1) as EpochMs));
    expect(stored()?.counters).toEqual(charges.map(({ counter }) => [counter, 0, 0, 0]));
    expect(rows.counters.size).toBe(0);
  });

  test('lets go of ended windows when an operation is promised again, so that it does not grow with time', () => {
    const limits = (hour: number) =>
      ['a', 'b'].map((name) => aLimit({ counter: `${name}/${hour}`, window: anHour(hour) }));
    for (let hour = 0; hour < 200; hour++) {
      const now = (startMs + hour * hourMs) as EpochMs;
      const promise = { validUntil: seconds((hour + 2) * 3600) };
      expect(turn((one) => one.reserve(aRequest({ limits: limits(hour), promise }), now))).toEqual(reserved);
      expect(rows.reservation(aKey())?.limits.length).toBeLessThanOrEqual(4);
    }
    expect(rows.counter(limits(0)[0]!)).toBeUndefined();
    expect(rows.counter(limits(199)[0]!)).toMatchObject({ used: 0, reserved: 1 });
    // With a clock that is set back by more than ten minutes its use is unknown.
    const back = aRequest({ key: { nonce: 1n }, limits: limits(150) });
    expect(turn((one) => one.reserve(back, anHour(150).from))).toEqual({ outcome: 'usage-lost', index: 0 });
  });

  test('leaves a counter that a reservation still holds, until it ends', () => {
    const limits = [aLimit({ ...settledOf(1), window: anHour(), threshold: 9 })];
    turn((one) => {
      one.reserve(aRequest({ limits }), startMs);
      one.charge(one.counters.of(settledOf(1)), 4, anHour().until);
    });
    const after = (startMs + 3 * hourMs) as EpochMs;
    turn((one) => one.forget([settledOf(1)], after));
    expect(rows.counter(settledOf(1))).toMatchObject({ used: 4, reserved: 1 });
    turn((one) => one.entries.end(one.entries.find(aKey())!));
    turn((one) => one.forget([settledOf(1)], after));
    expect(rows.counter(settledOf(1))).toBeUndefined();
    expect(rows.chain.forgottenUntil).toBe(after - 600_000);
  });
});

describe('promises', () => {
  const none: Promises = { promises: [], folded: [] };
  const made = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => aSignedPromise({ digest: aDigest(from + i) }));
  const all = (from: number, to: number) => made(from, to).reduce(withPromise, none);

  test('of two records of one reservation are all kept, those of the second as the newer ones', () => {
    const both = joinPromises(all(0, 3), all(2, 6));
    expect(both.promises.map(({ digest }) => digest)).toEqual([5, 4, 3, 2, 1, 0].map(aDigest));
    expect(both.folded).toEqual([]);
  });

  test('that are too many together fold, and what was folded stays', () => {
    const old = {
      ...all(0, keptPromises),
      folded: [{ mode: 'ERC20' as const, contract, prefundWei: 5n, validUntil: seconds(1) }],
    };
    const both = joinPromises(old, all(100, 103));
    expect(both.promises).toHaveLength(keptPromises);
    const { mode, prefundWei, validUntil } = aSignedPromise();
    expect(both.folded).toEqual([old.folded[0], { mode, contract, prefundWei, validUntil }]);
  });
});

test('a reservation that is restored over one of another account adds its need to that account', () => {
  const other = anAddress(0xc9);
  const [validUntil, need] = [seconds(900), gwei(30)];
  turn((one) => {
    one.setBalance({ contract }, gwei(100), startMs);
    one.reserve(aRequest({ accounts: [aNeed(10)] }), startMs);
    one.entries.restore({
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
  });
  expect(rows.account({ contract })).toMatchObject({ balance: 100, reserved: 30 });
  expect(rows.account({ contract: other })).toMatchObject({ balance: undefined, reserved: 30 });
  expect(rows.reservation(aKey())?.validUntil).toBe(seconds(900));
  turn((one) => one.entries.end(one.entries.find(aKey())!));
  expect([...rows.accounts.values()]).toMatchObject([{ contract, balance: 100, reserved: 0 }]);
});

test('an operation that ends and is promised again in one turn is live, and holds what its new promise holds', () => {
  turn((one) => one.reserve(aRequest({ limits: [aSpend(5)] }), startMs));
  turn((one) => {
    one.entries.end(one.entries.find(aKey())!);
    one.reserve(aRequest({ limits: [aSpend(3)] }), startMs);
  });
  expect(stored()).toMatchObject({ reservations: [0n], ended: [] });
  expect(rows.counter(aSpend(0))).toMatchObject({ reserved: 3, holders: 1 });
});
