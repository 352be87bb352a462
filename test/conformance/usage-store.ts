import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Cursor, FollowerStep, ReserveRequest, UsageStore } from '../../core/policy/usage-store.js';
import type { EpochMs } from '../../core/units/time.js';
import { gwei } from '../../core/units/wei.js';
import {
  aHash,
  aKey,
  aLimit,
  anAddress,
  aNeed,
  aRequest,
  chainId,
  contract,
  funding,
  hourMs,
  seconds,
  sender,
  sorted,
  startMs,
} from './usage-requests.js';

/** A store whose clock starts at `startMs` of usage-requests.ts. */
export type UsageHarness = {
  readonly store: UsageStore;
  now(): EpochMs;
  advance(ms: number): void;
  /** The same data after an orderly stop. */
  restart(): Promise<UsageStore>;
  stop(): Promise<void>;
};

const reserved = { outcome: 'reserved' };

/** Release of an operation that was promised until the default of `aRequest`. */
function release(key: Parameters<typeof aKey>[0] = {}) {
  return { key: aKey(key), validUntil: seconds(300) };
}

/** What every usage store guarantees; see the port. */
export function usageStoreConformance(implementation: string, create: () => Promise<UsageHarness>): void {
  describe(`usage store on ${implementation}`, () => {
    let harness: UsageHarness;
    let store: UsageStore;
    let cursor: Cursor | undefined;

    beforeEach(async () => {
      harness = await create();
      store = harness.store;
      cursor = undefined;
    });
    afterEach(() => harness.stop());

    /** Reserves operations of different nonces one after the other and answers how many passed. */
    async function passed(count: number, request: (nonce: bigint) => ReserveRequest): Promise<number> {
      let number = 0;
      for (let nonce = 0n; nonce < count; nonce++)
        if ((await store.reserve(request(nonce))).outcome === 'reserved') number += 1;
      return number;
    }

    async function advance(step: Partial<FollowerStep>): Promise<void> {
      const blockNumber = (cursor?.blockNumber ?? 0) + 1;
      const next = { blockNumber, blockHash: aHash(blockNumber), timestamp: seconds(blockNumber) };
      const whole = { chainId, expected: cursor, next, settled: [], released: [], balances: [], ...step };
      expect(await store.advance(whole)).toBe(true);
      cursor = next;
    }

    async function deposit(balance: number, account: { readonly fundingAddress?: typeof funding } = {}) {
      await advance({ balances: [{ contract, ...account, balance: gwei(balance), readAt: harness.now() }] });
    }

    describe('limits', () => {
      test('as many operations pass as the threshold says, and the next is refused until the window ends', async () => {
        const one = (nonce: bigint) => aRequest({ key: { nonce }, limits: [aLimit({ threshold: 3 })] });
        expect(await passed(3, one)).toBe(3);
        expect(await store.reserve(one(9n))).toEqual({
          outcome: 'limit',
          index: 0,
          used: 3,
          resetsAt: startMs + hourMs,
        });
      });

      test('an amount may reach the threshold exactly and not exceed it by one unit', async () => {
        const spend = (nonce: bigint, cost: number) =>
          aRequest({ key: { nonce }, limits: [aLimit({ unit: 'NATIVE_ASSET', threshold: 100, cost })] });
        expect(await store.reserve(spend(1n, 60))).toEqual(reserved);
        expect(await store.reserve(spend(2n, 41))).toMatchObject({ outcome: 'limit', used: 60 });
        expect(await store.reserve(spend(3n, 40))).toEqual(reserved);
        expect(await store.reserve(spend(4n, 1))).toMatchObject({ outcome: 'limit', used: 100 });
      });

      test('a counter of which nothing is taken counts what settlements add to it', async () => {
        const loss = aLimit({ policyId: 'loss', unit: 'NATIVE_ASSET', threshold: 10, cost: 0 });
        const one = (nonce: bigint) => aRequest({ key: { nonce }, limits: [loss] });
        expect(await passed(5, one)).toBe(5);
        await advance({ settled: [{ key: aKey({ nonce: 0n }), actualCost: gwei(10) }] });
        await advance({ settled: [{ key: aKey({ nonce: 1n }), actualCost: gwei(0) }] });
        expect(await store.reserve(one(5n))).toEqual(reserved);
        await advance({ settled: [{ key: aKey({ nonce: 2n }), actualCost: gwei(1) }] });
        expect(await store.reserve(one(6n))).toMatchObject({ outcome: 'limit', index: 0, used: 11 });
      });

      test('what a request is remembered with counts only for its own paymaster, and only in the store that it was found in', async () => {
        const memo = { found: undefined };
        const of = (paymasterId: string, nonce: bigint, configGeneration = 1) =>
          aRequest({
            key: { paymasterId, nonce },
            configGeneration,
            limits: [aLimit({ policyId: `of-${paymasterId}`, threshold: 2 })],
            memo,
          });
        expect(await store.reserve(of('a', 1n, 7))).toEqual(reserved);
        expect(await store.reserve(of('b', 2n, 1))).toEqual(reserved);
        expect(await store.reserve(of('a', 3n, 6))).toEqual({ outcome: 'stale' });
        expect(await store.reserve(of('a', 3n, 7))).toEqual(reserved);
        store = await harness.restart();
        expect(await store.reserve(of('a', 4n, 7))).toMatchObject({ outcome: 'limit', used: 2 });
        expect(await store.reserve(of('a', 4n, 6))).toEqual({ outcome: 'stale' });
        expect(await store.reserve(of('b', 5n, 1))).toEqual(reserved);
        expect((await store.reservations(chainId)).map(({ key }) => key.paymasterId).toSorted()).toEqual([
          'a',
          'a',
          'b',
          'b',
        ]);
      });

      test('a request that one limit refuses takes nothing from the others', async () => {
        const wide = aLimit({ policyId: 'wide', threshold: 5 });
        const full = aLimit({ policyId: 'full', threshold: 0 });
        expect(await store.reserve(aRequest({ limits: [wide, full] }))).toMatchObject({
          outcome: 'limit',
          index: 1,
        });
        expect((await store.peek(aRequest({ limits: [wide] }))).limits).toMatchObject([{ used: 0 }]);
        expect(await store.reservations(chainId)).toEqual([]);
      });

      test('each subject has its own counter, apart from the one that all share', async () => {
        const of = (n: number) =>
          aRequest({
            key: { sender: anAddress(n) },
            limits: [
              aLimit({ policyId: 'each', subject: anAddress(n), threshold: 1 }),
              aLimit({ policyId: 'all', threshold: 2 }),
            ],
          });
        expect(await store.reserve(of(1))).toEqual(reserved);
        expect(
          await store.reserve({ ...of(1), key: aKey({ sender: anAddress(1), nonce: 7n }) }),
        ).toMatchObject({
          outcome: 'limit',
          index: 0,
        });
        expect(await store.reserve(of(2))).toEqual(reserved);
        expect(await store.reserve(of(3))).toMatchObject({ outcome: 'limit', index: 1, used: 2 });
      });

      test('concurrent requests pass as often as the threshold says, however they are spread over turns', async () => {
        const answers = await Promise.all(
          Array.from({ length: 200 }, async (_, i) => {
            if (i % 3 === 0) await new Promise(setImmediate);
            return store.reserve(
              aRequest({
                key: { nonce: BigInt(i) },
                limits: [aLimit({ threshold: 37 }), aLimit({ policyId: 'p2', threshold: 90 })],
              }),
            );
          }),
        );
        expect(answers.filter(({ outcome }) => outcome === 'reserved')).toHaveLength(37);
        expect(await store.reservations(chainId)).toHaveLength(37);
      });

      test.each<{ name: string; at: number; window: number }>([
        { name: 'before the start of the cycle', at: -5 * hourMs, window: 0 },
        { name: 'at the start', at: 0, window: 0 },
        { name: 'one millisecond before the first window ends', at: hourMs - 1, window: 0 },
        { name: 'when the first window ends', at: hourMs, window: 1 },
        { name: 'later', at: 7.5 * hourMs, window: 7 },
      ])('the window is counted from the start: $name', async ({ at, window }) => {
        const limit = aLimit({ startMs: (harness.now() - at) as EpochMs });
        expect((await store.peek(aRequest({ limits: [limit] }))).limits).toEqual([
          { used: 0, window, resetsAt: limit.startMs + (window + 1) * hourMs },
        ]);
      });

      test('a full limit is empty in the next window', async () => {
        const one = (nonce: bigint) => aRequest({ key: { nonce }, limits: [aLimit({ threshold: 1 })] });
        expect(await store.reserve(one(1n))).toEqual(reserved);
        harness.advance(hourMs - 1);
        expect(await store.reserve(one(2n))).toMatchObject({ outcome: 'limit' });
        harness.advance(1);
        expect(await store.reserve(one(2n))).toEqual(reserved);
        expect(await store.reserve(one(3n))).toMatchObject({ outcome: 'limit' });
      });

      test('another cycle start counts from zero and leaves the counters of the former one', async () => {
        const limit = aLimit({ threshold: 1 });
        const later = { ...limit, startMs: (startMs + 60_000) as EpochMs };
        expect(await store.reserve(aRequest({ limits: [limit] }))).toEqual(reserved);
        expect(await store.reserve(aRequest({ key: { nonce: 2n }, limits: [later] }))).toEqual(reserved);
        expect(await store.reserve(aRequest({ key: { nonce: 3n }, limits: [limit] }))).toMatchObject({
          outcome: 'limit',
        });
      });
    });

    describe('deposits', () => {
      test('live needs and the new one must fit the balance', async () => {
        await deposit(100);
        const need = (nonce: bigint, amount: number) =>
          aRequest({ key: { nonce }, accounts: [aNeed(amount)] });
        expect(await store.reserve(need(1n, 70))).toEqual(reserved);
        expect(await store.reserve(need(2n, 31))).toEqual({
          outcome: 'deposit',
          index: 0,
          balance: 100,
          reserved: 70,
        });
        expect(await store.reserve(need(3n, 30))).toEqual(reserved);
      });

      test('a deposit that is too low takes nothing from limits or from other accounts', async () => {
        await deposit(100);
        await deposit(10, { fundingAddress: funding });
        const limits = [aLimit()];
        const accounts = [aNeed(50), aNeed(50, { fundingAddress: funding })];
        expect(await store.reserve(aRequest({ limits, accounts }))).toMatchObject({
          outcome: 'deposit',
          index: 1,
        });
        const seen = await store.peek(aRequest({ limits, accounts: [aNeed(1)] }));
        expect(seen.limits).toMatchObject([{ used: 0 }]);
        expect(seen.accounts).toMatchObject([{ balance: 100, reserved: 0 }]);
      });

      test('a balance that was never read, or too long ago, is an outage and not a refusal', async () => {
        const unknown = { code: 'UNAVAILABLE', details: { reason: 'DEPOSIT_UNKNOWN' } };
        const request = aRequest({ accounts: [aNeed(1)], depositMaxAgeMs: 1000 });
        await expect(store.reserve(request)).rejects.toMatchObject(unknown);
        await deposit(100);
        harness.advance(1000);
        expect(await store.reserve(request)).toEqual(reserved);
        harness.advance(1);
        await expect(store.reserve(request)).rejects.toMatchObject(unknown);
        await expect(store.peek(request)).rejects.toMatchObject(unknown);
      });

      test('a limit that is full refuses whether or not the deposit is known', async () => {
        const request = aRequest({ limits: [aLimit({ threshold: 0 })], accounts: [aNeed(1)] });
        expect(await store.reserve(request)).toMatchObject({ outcome: 'limit' });
      });

      test('the first balance of an account counts, later ones come with the follower only', async () => {
        const account = { contract, fundingAddress: funding };
        const first = { ...account, balance: gwei(100), reserved: gwei(0), readAt: harness.now() };
        await store.addBalance(chainId, first);
        await store.addBalance(chainId, { ...first, balance: gwei(900) });
        expect(await store.accounts(chainId)).toEqual([first]);
        await deposit(40, { fundingAddress: funding });
        expect(await store.accounts(chainId)).toEqual([{ ...first, balance: 40 }]);
        expect(await store.accounts(chainId + 1)).toEqual([]);
      });

      test('a balance that falls below what is promised refuses everything until promises end', async () => {
        await deposit(100);
        const request = (nonce: bigint) => aRequest({ key: { nonce }, accounts: [aNeed(60)] });
        expect(await store.reserve(request(1n))).toEqual(reserved);
        await deposit(50);
        expect(await store.reserve(request(1n))).toMatchObject({
          outcome: 'deposit',
          balance: 50,
          reserved: 0,
        });
        await advance({ released: [release({ nonce: 1n })] });
        expect(await store.reserve(aRequest({ key: { nonce: 2n }, accounts: [aNeed(50)] }))).toEqual(
          reserved,
        );
      });
    });

    describe('asking again for the same operation', () => {
      test('counts once, whatever the order of costs', async () => {
        const spend = (cost: number) =>
          aRequest({
            limits: [aLimit({ unit: 'NATIVE_ASSET', threshold: 100, cost }), aLimit({ policyId: 'p2' })],
          });
        for (const cost of [50, 80, 20]) expect(await store.reserve(spend(cost))).toEqual(reserved);
        const others = aRequest({ key: { nonce: 1n }, limits: spend(1).limits });
        expect((await store.peek(others)).limits).toMatchObject([{ used: 80 }, { used: 1 }]);
      });

      test('is refused when the larger cost does not fit, and the earlier reservation stands', async () => {
        await deposit(1000);
        const spend = (cost: number, after: number) =>
          aRequest({
            limits: [aLimit({ unit: 'NATIVE_ASSET', threshold: 100, cost })],
            accounts: [aNeed(cost)],
            validUntil: seconds(after),
          });
        expect(await store.reserve(spend(60, 300))).toEqual(reserved);
        const before = await store.reservations(chainId);
        expect(await store.reserve(spend(101, 900))).toMatchObject({ outcome: 'limit', used: 0 });
        expect(await store.reservations(chainId)).toEqual(before);
      });

      test('keeps the later expiry', async () => {
        for (const after of [300, 900, 600])
          expect(await store.reserve(aRequest({ validUntil: seconds(after) }))).toEqual(reserved);
        expect(await store.reservations(chainId)).toMatchObject([{ validUntil: seconds(900) }]);
      });

      test('passes with its own share when the limit is full of it', async () => {
        const request = aRequest({ limits: [aLimit({ threshold: 1 })] });
        expect(await store.reserve(request)).toEqual(reserved);
        expect(await store.reserve(request)).toEqual(reserved);
        expect((await store.peek(request)).limits).toMatchObject([{ used: 0 }]);
      });

      test('in the next window reserves there in full and keeps what it holds in the former one', async () => {
        const request = aRequest({ limits: [aLimit({ threshold: 1 })], validUntil: seconds(7200) });
        expect(await store.reserve(request)).toEqual(reserved);
        harness.advance(hourMs);
        expect(await store.reserve(request)).toEqual(reserved);
        expect(await store.reserve(aRequest({ key: { nonce: 1n }, limits: request.limits }))).toMatchObject({
          outcome: 'limit',
          used: 1,
        });
        const [reservation] = await store.reservations(chainId);
        expect(reservation?.limits).toHaveLength(2);
      });

      test('reserves a policy that is new since then, and refuses when that one is full', async () => {
        const old = aLimit({ policyId: 'old' });
        const added = aLimit({ policyId: 'added', threshold: 1 });
        expect(await store.reserve(aRequest({ limits: [old] }))).toEqual(reserved);
        expect(await store.reserve(aRequest({ key: { nonce: 1n }, limits: [added] }))).toEqual(reserved);
        expect(await store.reserve(aRequest({ limits: [old, added] }))).toMatchObject({
          outcome: 'limit',
          index: 1,
        });
        const [first] = sorted(await store.reservations(chainId));
        expect(first?.limits).toHaveLength(1);
      });

      test('on another account keeps the need on the former one', async () => {
        await deposit(100);
        await deposit(100, { fundingAddress: funding });
        expect(await store.reserve(aRequest({ accounts: [aNeed(30)] }))).toEqual(reserved);
        expect(await store.reserve(aRequest({ accounts: [aNeed(50, { fundingAddress: funding })] }))).toEqual(
          reserved,
        );
        expect((await store.accounts(chainId)).map((account) => account.reserved)).toEqual([30, 50]);
      });

      test.each<{ name: string; other: Parameters<typeof aKey>[0] }>([
        { name: 'the same low bits of another nonce key', other: { nonce: 1n << 255n } },
        { name: 'another sender', other: { sender: anAddress(0xa1) } },
        { name: 'another paymaster', other: { paymasterId: 'pm-2' } },
        { name: 'another EntryPoint', other: { entryPoint: anAddress(0xe1) } },
      ])('is about the same operation only: $name is another', async ({ other }) => {
        const limits = [aLimit({ threshold: 1 })];
        expect(await store.reserve(aRequest({ limits }))).toEqual(reserved);
        expect(await store.reserve(aRequest({ limits, key: other ?? {} }))).toMatchObject({
          outcome: 'limit',
        });
      });

      test('is about the same chain only', async () => {
        for (const id of [chainId, 1])
          expect(await store.reserve(aRequest({ key: { chainId: id } }))).toEqual(reserved);
        for (const id of [chainId, 1])
          expect((await store.reservations(id)).map(({ key }) => key)).toEqual([aKey({ chainId: id })]);
      });
    });

    describe('config generations', () => {
      test('an older generation than the newest seen is stale and reserves nothing', async () => {
        const at = (configGeneration: number, nonce: bigint) =>
          aRequest({ configGeneration, key: { nonce }, limits: [aLimit()] });
        expect(await store.reserve(at(5, 1n))).toEqual(reserved);
        expect(await store.reserve(at(5, 2n))).toEqual(reserved);
        expect(await store.reserve(at(4, 3n))).toEqual({ outcome: 'stale' });
        expect((await store.peek(at(4, 3n))).result).toEqual({ outcome: 'stale' });
        expect(await store.reservations(chainId)).toHaveLength(2);
      });

      test('generations of paymasters are independent, and a peek leaves none behind', async () => {
        expect(await store.reserve(aRequest({ configGeneration: 9 }))).toEqual(reserved);
        expect(await store.reserve(aRequest({ key: { paymasterId: 'pm-2' } }))).toEqual(reserved);
        await store.peek(aRequest({ configGeneration: 3, key: { paymasterId: 'pm-2' } }));
        expect(await store.reserve(aRequest({ key: { paymasterId: 'pm-2', nonce: 1n } }))).toEqual(reserved);
      });
    });

    test('a peek gives the verdict of reserve, shows what others use, and changes nothing', async () => {
      await deposit(100);
      const request = (nonce: bigint, cost: number) =>
        aRequest({
          key: { nonce },
          limits: [aLimit({ unit: 'NATIVE_ASSET', threshold: 100, cost })],
          accounts: [aNeed(cost)],
        });
      await store.reserve(request(1n, 60));
      const before = await store.reservations(chainId);
      expect(await store.peek(request(2n, 40))).toEqual({
        result: reserved,
        limits: [{ used: 60, window: 0, resetsAt: startMs + hourMs }],
        accounts: [{ contract, balance: 100, reserved: 60, readAt: harness.now() }],
      });
      expect((await store.peek(request(2n, 41))).result).toMatchObject({ outcome: 'limit', used: 60 });
      expect(await store.reservations(chainId)).toEqual(before);
    });

    describe('the follower', () => {
      const limits = [
        aLimit({ policyId: 'count', threshold: 2 }),
        aLimit({ policyId: 'spend', unit: 'NATIVE_ASSET', threshold: 100, cost: 60 }),
      ];

      test('settling moves an amount to what it cost, keeps a count of one, and frees the deposit', async () => {
        await deposit(100);
        await store.reserve(aRequest({ limits, accounts: [aNeed(60)] }));
        await advance({ settled: [{ key: aKey(), actualCost: gwei(25) }] });
        const seen = await store.peek(aRequest({ key: { nonce: 1n }, limits, accounts: [aNeed(1)] }));
        expect(seen.limits).toMatchObject([{ used: 1 }, { used: 25 }]);
        expect(seen.accounts).toMatchObject([{ reserved: 0 }]);
        expect(await store.reservations(chainId)).toEqual([]);
      });

      test('releasing gives back everything', async () => {
        await deposit(100);
        await store.reserve(aRequest({ limits, accounts: [aNeed(60)] }));
        await advance({ released: [release()] });
        const seen = await store.peek(aRequest({ key: { nonce: 1n }, limits, accounts: [aNeed(1)] }));
        expect(seen.limits).toMatchObject([{ used: 0 }, { used: 0 }]);
        expect(seen.accounts).toMatchObject([{ reserved: 0 }]);
      });

      test('an operation that was promised again meanwhile is not released', async () => {
        await store.reserve(aRequest({ limits, validUntil: seconds(300) }));
        await store.reserve(aRequest({ limits, validUntil: seconds(301) }));
        await advance({ released: [release()] });
        expect(await store.reservations(chainId)).toHaveLength(1);
        await advance({ released: [{ key: aKey(), validUntil: seconds(301) }] });
        expect(await store.reservations(chainId)).toEqual([]);
      });

      test('an operation that was settled may be reserved again and then counts again', async () => {
        await store.reserve(aRequest({ limits }));
        await advance({ settled: [{ key: aKey(), actualCost: gwei(25) }] });
        expect(await store.reserve(aRequest({ limits }))).toEqual(reserved);
        expect(await store.reserve(aRequest({ key: { nonce: 1n }, limits }))).toMatchObject({
          outcome: 'limit',
          index: 0,
          used: 2,
        });
      });

      test('a step is taken once: another cursor than the expected one changes nothing', async () => {
        await store.reserve(aRequest({ limits }));
        const next = { blockNumber: 7, blockHash: aHash(7), timestamp: seconds(7) };
        const step: FollowerStep = {
          chainId,
          expected: undefined,
          next,
          settled: [{ key: aKey(), actualCost: gwei(25) }],
          released: [],
          balances: [],
        };
        expect(await store.advance(step)).toBe(true);
        await store.reserve(aRequest({ limits }));
        expect(await store.advance(step)).toBe(false);
        expect(await store.advance({ ...step, expected: { ...next, blockHash: aHash(8) } })).toBe(false);
        expect(await store.reservations(chainId)).toHaveLength(1);
        expect(await store.cursor(chainId)).toEqual(next);
        expect(await store.cursor(1)).toBeUndefined();
      });

      test('a step may name operations that nobody reserved, or one operation twice', async () => {
        await store.reserve(aRequest({ limits }));
        const mined = { key: aKey(), actualCost: gwei(25) };
        await advance({
          settled: [{ key: aKey({ nonce: 99n }), actualCost: gwei(1) }, mined, mined],
          released: [release({ sender: anAddress(9) }), release()],
        });
        expect((await store.peek(aRequest({ limits }))).limits).toMatchObject([{ used: 1 }, { used: 25 }]);
      });

      test('finds the reservations of an operation for all paymasters, and those that have expired', async () => {
        for (const paymasterId of ['pm-1', 'pm-2', 'pm-3'])
          await store.reserve(aRequest({ key: { paymasterId }, validUntil: seconds(600) }));
        for (const nonce of [1n, 2n, 3n])
          await store.reserve(aRequest({ key: { nonce }, validUntil: seconds(Number(nonce) * 100) }));
        const find = async (query: Parameters<UsageStore['reservations']>[1]) =>
          sorted(await store.reservations(chainId, query)).map(
            ({ key }) => `${key.paymasterId}/${key.nonce}`,
          );
        const none = { operations: [], expiredBefore: seconds(0), limit: 100 };
        expect(await find(none)).toEqual([]);
        expect(await find({ ...none, operations: [aKey(), aKey({ nonce: 44n })] })).toEqual([
          'pm-1/0',
          'pm-2/0',
          'pm-3/0',
        ]);
        expect(await find({ ...none, expiredBefore: seconds(201) })).toEqual(['pm-1/1', 'pm-1/2']);
        expect(
          await find({ ...none, expiredBefore: seconds(200), operations: [aKey({ nonce: 1n })] }),
        ).toEqual(['pm-1/1']);
        expect(
          await store.reservations(chainId, { ...none, expiredBefore: seconds(9999), limit: 2 }),
        ).toHaveLength(2);
        expect([await store.liveCount(chainId), await store.liveCount(1)]).toEqual([6, 0]);
        await advance({ released: [{ ...release({ paymasterId: 'pm-2' }), validUntil: seconds(600) }] });
        expect(await store.liveCount(chainId)).toBe(5);
        expect(await find({ ...none, operations: [aKey()] })).toEqual(['pm-1/0', 'pm-3/0']);
      });

      test('a reservation shows what it was made with, and the hash that was signed', async () => {
        await deposit(1000);
        await deposit(1000, { fundingAddress: funding });
        const accounts = [aNeed(5), aNeed(7, { fundingAddress: funding })];
        await store.reserve(
          aRequest({
            limits: limits.slice(1),
            accounts,
            fundingAddress: funding,
            mode: 'ERC20',
            key: { nonce: 5n },
          }),
        );
        store.noteSigned(aKey({ nonce: 5n }), aHash(77));
        store.noteSigned(aKey({ nonce: 6n }), aHash(78));
        expect(await store.reservations(chainId)).toEqual([
          {
            key: aKey({ nonce: 5n }),
            contract,
            mode: 'ERC20',
            fundingAddress: funding,
            validUntil: seconds(300),
            userOpHash: aHash(77),
            limits: [{ counter: expect.stringContaining('spend'), unit: 'NATIVE_ASSET', cost: 60 }],
            accounts,
          },
        ]);
      });
    });

    describe('funding messages', () => {
      const at = (ms: number) => (harness.now() + ms) as EpochMs;

      test('the newest message of a paymaster is used up once', async () => {
        await store.putFundingMessage('pm-1', 'first', at(900_000));
        await store.putFundingMessage('pm-1', 'second', at(900_000));
        await store.putFundingMessage('pm-2', 'other', at(900_000));
        expect(await store.getFundingMessage('pm-1')).toBe('second');
        expect(await store.consumeFundingMessage('pm-1', 'first')).toBe(false);
        const attempts = await Promise.all(
          [1, 2, 3].map(() => store.consumeFundingMessage('pm-1', 'second')),
        );
        expect(attempts.filter(Boolean)).toHaveLength(1);
        expect(await store.getFundingMessage('pm-1')).toBeUndefined();
        expect(await store.getFundingMessage('pm-2')).toBe('other');
      });

      test('a message ends with its time', async () => {
        await store.putFundingMessage('pm-1', 'text', at(900_000));
        harness.advance(899_999);
        expect(await store.getFundingMessage('pm-1')).toBe('text');
        harness.advance(1);
        expect(await store.getFundingMessage('pm-1')).toBeUndefined();
        expect(await store.consumeFundingMessage('pm-1', 'text')).toBe(false);
      });
    });

    describe('lifetime', () => {
      test('everything is there after a restart', async () => {
        await deposit(1000);
        await deposit(1000, { fundingAddress: funding });
        const limits = [
          aLimit({ threshold: 3, subject: sender }),
          aLimit({ policyId: 'spend', unit: 'NATIVE_ASSET', threshold: 100, cost: 30 }),
        ];
        const accounts = [aNeed(5), aNeed(7, { fundingAddress: funding })];
        for (const nonce of [1n, 2n, (1n << 256n) - 1n])
          await store.reserve(
            aRequest({ key: { nonce }, limits, accounts, fundingAddress: funding, configGeneration: 4 }),
          );
        await advance({ settled: [{ key: aKey({ nonce: 1n }), actualCost: gwei(21) }] });
        await store.putFundingMessage('pm-1', 'a "quoted"\nmessage', (harness.now() + 900_000) as EpochMs);
        const seen = async () => ({
          peek: await store.peek(aRequest({ key: { nonce: 9n }, limits, accounts, configGeneration: 4 })),
          stale: await store.reserve(aRequest({ key: { nonce: 9n }, configGeneration: 3 })),
          reservations: sorted(await store.reservations(chainId)),
          accounts: await store.accounts(chainId),
          cursor: await store.cursor(chainId),
          message: await store.getFundingMessage('pm-1'),
        });
        const before = await seen();
        expect(before.peek.result).toMatchObject({ outcome: 'limit', index: 0, used: 3 });
        expect(before.peek.limits).toMatchObject([{ used: 3 }, { used: 81 }]);
        store = await harness.restart();
        expect(await seen()).toEqual(before);
        await advance({ released: [release({ nonce: 2n })] });
        store = await harness.restart();
        expect((await seen()).peek.limits).toMatchObject([{ used: 2 }, { used: 51 }]);
      });

      test('answers a ping, stops twice, and then answers UNAVAILABLE', async () => {
        await store.ping();
        await store.stop();
        await store.stop();
        const unavailable = { code: 'UNAVAILABLE' };
        await expect(store.ping()).rejects.toMatchObject(unavailable);
        await expect(store.reserve(aRequest())).rejects.toMatchObject(unavailable);
        await expect(store.peek(aRequest())).rejects.toMatchObject(unavailable);
        await expect(store.reservations(chainId)).rejects.toMatchObject(unavailable);
        await expect(store.getFundingMessage('pm-1')).rejects.toMatchObject(unavailable);
      });

      test('a reservation that was asked for before the stop is answered', async () => {
        const answer = store.reserve(aRequest());
        await store.stop();
        expect(await answer).toEqual(reserved);
      });
    });
  });
}
