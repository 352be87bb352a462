import { describe, expect, test } from '@jest/globals';
import type { ReserveResult } from '../../../core/usage/reserve-request.js';
import { gwei } from '../../../core/units/wei.js';
import {
  aBar,
  aDigest,
  aHash,
  aHold,
  aLimit,
  anAddress,
  aNeed,
  anHour,
  aRequest,
  aSpend,
  chainId,
  seconds,
  token,
} from '../usage-requests.js';
import { reserved, type Suite } from './suite.js';

const notCommitted = { outcome: 'not-committed' };

/** Two phases: a commit takes amounts and signs nothing; a finalize turns it into a promise, once. */
export function commitsConformance(it: Suite): void {
  const phase =
    (kind: 'commit' | 'finalize') =>
    (nonce: bigint, commitment = 1, change: Change = {}) =>
      it.store.reserve(
        aRequest({
          limits: [aSpend(30), aLimit()],
          holds: [aHold(30)],
          accounts: [aNeed(30)],
          ...change,
          promise: { digest: aDigest(commitment), ...change.promise },
          key: { ...change.key, nonce },
          phase: { kind, commitment: aHash(commitment) },
        }),
      );
  const commit = phase('commit');
  const finalize = phase('finalize');
  const taken = async () => (await it.stands(aSpend(0), aLimit(), aHold(0))).map(([, held]) => held);
  const promised = async () => (await it.store.accounts(chainId)).map(({ reserved: sum }) => sum);

  describe('a commit', () => {
    test('takes what its promise would take, and records none', async () => {
      await it.deposit(1000);
      expect(await commit(0n)).toEqual(reserved);
      expect(await taken()).toEqual([30, 1, 30]);
      expect(await promised()).toEqual([30]);
      expect(await it.store.reservations(chainId)).toMatchObject([
        {
          promises: [],
          folded: [],
          validUntil: seconds(60),
          commit: { commitment: aHash(1), isSigned: false },
        },
      ]);
    });

    test('is refused where its promise would be refused', async () => {
      await it.deposit(1000);
      expect(await commit(0n, 1, { limits: [aSpend(101)] })).toMatchObject({ outcome: 'limit' });
      expect(await commit(0n, 1, { accounts: [aNeed(1001)] })).toMatchObject({ outcome: 'deposit' });
      expect(await it.store.liveCount(chainId)).toBe(0);
    });

    test('leaves nothing when it is over, and cannot be finalized then', async () => {
      await it.deposit(1000);
      await commit(0n);
      it.clock.advance(59_999);
      expect(await it.store.dropCommits(chainId)).toBe(0);
      it.clock.advance(1);
      expect(await finalize(0n)).toEqual(notCommitted);
      expect(await it.store.dropCommits(chainId)).toBe(1);
      expect(await taken()).toEqual([0, 0, 0]);
      expect(await promised()).toEqual([0]);
      expect(await it.store.reservations(chainId)).toEqual([]);
      expect(await it.store.dropCommits(chainId)).toBe(0);
      expect(await finalize(0n)).toEqual(notCommitted);
    });

    test('is over when its data are', async () => {
      await it.deposit(1000);
      const short = { promise: { validUntil: seconds(20) } };
      await commit(0n, 1, short);
      it.clock.advance(20_000);
      expect(await finalize(0n, 1, short)).toEqual(notCommitted);
      expect(await it.store.dropCommits(chainId)).toBe(1);
    });

    test('of an operation with a promise takes only what is more, and gives it back', async () => {
      await it.deposit(1000);
      await it.store.reserve(aRequest({ limits: [aSpend(50), aLimit()], accounts: [aNeed(20)] }));
      const before = await it.store.reservations(chainId);
      expect(await commit(0n, 1, { limits: [aSpend(80)] })).toEqual(reserved);
      expect(await taken()).toEqual([80, 1, 30]);
      expect(await promised()).toEqual([30]);
      it.clock.advance(60_000);
      await it.store.dropCommits(chainId);
      expect(await it.store.reservations(chainId)).toEqual(before);
      expect(await taken()).toEqual([50, 1, 0]);
      expect(await promised()).toEqual([20]);
    });

    test('outlives a restart', async () => {
      await it.deposit(1000);
      await commit(0n);
      await it.replaced('reopen');
      expect(await finalize(0n)).toEqual(reserved);
      await commit(1n);
      it.clock.advance(60_000);
      await it.replaced('reopen');
      expect(await it.store.dropCommits(chainId)).toBe(1);
      expect(await taken()).toEqual([30, 1, 30]);
    });

    test('takes no part in a settlement: nothing was signed', async () => {
      await it.deposit(1000);
      await it.store.reserve(aRequest({ limits: [aSpend(10), aLimit()] }));
      await commit(0n);
      await commit(1n);
      await it.advance({
        settled: [{ key: aRequest().key, actualCost: gwei(25) }],
        forfeited: [{ key: aRequest({ key: { nonce: 1n } }).key }],
      });
      expect(await it.stands(aSpend(0), aLimit(), aHold(0))).toEqual([
        [10, 0],
        [1, 0],
        [0, 0],
      ]);
      expect(await it.store.liveCount(chainId)).toBe(0);
      expect(await finalize(0n)).toEqual(notCommitted);
      expect(await it.store.dropCommits(chainId)).toBe(0);
    });
  });

  describe('a finalize', () => {
    test('turns the commit into a promise that holds its amounts', async () => {
      await it.deposit(1000);
      await commit(0n);
      expect(await finalize(0n)).toEqual(reserved);
      it.clock.advance(60_000);
      await it.store.dropCommits(chainId);
      expect(await it.store.reservations(chainId)).toMatchObject([
        { promises: [{ digest: aDigest(1) }], validUntil: seconds(300) },
      ]);
      expect(await taken()).toEqual([30, 1, 30]);
    });

    test('asked again answers the same and takes nothing more', async () => {
      await it.deposit(1000);
      await commit(0n);
      expect(await finalize(0n)).toEqual(reserved);
      const once = await it.store.reservations(chainId);
      expect(await finalize(0n)).toEqual(reserved);
      expect(await it.store.reservations(chainId)).toEqual(once);
    });

    test('is refused by a peek where it would be refused', async () => {
      await it.deposit(1000);
      const asked = (commitment: number) =>
        it.store.peek(
          aRequest({ limits: [aSpend(30)], phase: { kind: 'finalize', commitment: aHash(commitment) } }),
        );
      expect((await asked(1)).result).toEqual(notCommitted);
      await commit(0n, 1);
      expect((await asked(1)).result).toEqual(reserved);
      expect((await asked(2)).result).toEqual(notCommitted);
      it.clock.advance(60_000);
      expect((await asked(1)).result).toEqual(notCommitted);
    });

    test('without a commit, or of another one, is refused and changes nothing', async () => {
      await it.deposit(1000);
      expect(await finalize(0n)).toEqual(notCommitted);
      await commit(0n, 1);
      const before = await it.store.reservations(chainId);
      expect(await finalize(0n, 2)).toEqual(notCommitted);
      expect(await finalize(1n, 1)).toEqual(notCommitted);
      expect(await finalize(0n, 1, { key: { paymasterId: 'pm-2' } })).toEqual(notCommitted);
      expect(await it.store.reservations(chainId)).toEqual(before);
    });

    test('for a settled operation is refused: its nonce is used', async () => {
      await it.deposit(1000);
      await commit(0n);
      await finalize(0n);
      await it.advance({ settled: [{ key: aRequest().key, actualCost: gwei(7) }] });
      expect(await finalize(0n)).toEqual(notCommitted);
      expect(await it.stands(aSpend(0))).toEqual([[7, 0]]);
    });

    test('is refused after a suspension or under an older generation', async () => {
      await it.deposit(1000);
      await commit(0n);
      await it.store.setSuspended(chainId, 'pm-1', true);
      expect(await finalize(0n)).toMatchObject({ outcome: 'suspended' });
      await it.store.setSuspended(chainId, 'pm-1', false);
      await it.store.noteGenerations(chainId, [{ id: 'pm-1', generation: 2 }]);
      expect(await finalize(0n)).toMatchObject({ outcome: 'stale' });
      expect(await finalize(0n, 1, { generation: 2 })).toEqual(reserved);
    });

    test.each(['the finalizes of three replicas', 'a finalize and the end of its commit'])(
      'at the same moment as others leaves one promise at most: %s',
      async (what) => {
        await it.deposit(1000);
        await commit(0n);
        const isExpiring = what.startsWith('a finalize');
        if (isExpiring) it.clock.advance(60_000);
        const results: readonly (ReserveResult | number)[] = await Promise.all([
          finalize(0n),
          isExpiring ? it.store.dropCommits(chainId) : finalize(0n),
          finalize(0n),
        ]);
        const [live] = await it.store.reservations(chainId);
        const passed = results.filter((one) => typeof one !== 'number' && one.outcome === 'reserved');
        expect(passed.length).toBe(isExpiring ? 0 : 3);
        expect(live?.promises.length ?? 0).toBe(isExpiring ? 0 : 1);
        expect(await taken()).toEqual(isExpiring ? [0, 0, 0] : [30, 1, 30]);
      },
    );
  });

  describe('a commit of a payment in tokens', () => {
    const exposure = aHold(30, { counter: 'exposure', plusUsed: ['losses'] });
    const asked = {
      bars: [aBar()],
      limits: [],
      holds: [exposure],
      promise: { mode: 'ERC20' as const, token },
    };
    const lose = (counter: string, amount: number) =>
      it.advance({
        charges: [{ counter, unit: 'NATIVE_ASSET', until: anHour().until, amount }],
      });

    test('takes its part of what can be lost, and gives it back where it is not finalized', async () => {
      await it.deposit(1000);
      expect(await commit(0n, 1, asked)).toEqual(reserved);
      expect(await it.stands(exposure)).toEqual([[0, 30]]);
      const other = { ...asked, holds: [{ ...exposure, cost: 71 }], key: { sender: anAddress(7) } };
      expect(await commit(0n, 2, other)).toMatchObject({ outcome: 'held', taken: 30, most: 100 });
      it.clock.advance(60_000);
      expect(await it.store.dropCommits(chainId)).toBe(1);
      expect(await it.stands(exposure)).toEqual([[0, 0]]);
      expect(await commit(0n, 2, other)).toEqual(reserved);
    });

    test('is finalized to a promise in that token, which holds the same', async () => {
      await it.deposit(1000);
      await commit(0n, 1, asked);
      expect(await finalize(0n, 1, asked)).toEqual(reserved);
      it.clock.advance(60_000);
      await it.store.dropCommits(chainId);
      expect(await it.stands(exposure)).toEqual([[0, 30]]);
      expect(await it.store.reservations(chainId)).toMatchObject([{ promises: [{ mode: 'ERC20', token }] }]);
    });

    test.each([
      { name: 'of its account', counter: 'loss-1', amount: 11, refusal: { outcome: 'barred', used: 11 } },
      { name: 'of its contract', counter: 'losses', amount: 71, refusal: { outcome: 'held', taken: 71 } },
    ])(
      'is not finalized after a loss $name, and frees what it held',
      async ({ counter, amount, refusal }) => {
        await it.deposit(1000);
        await commit(0n, 1, asked);
        await lose(counter, amount);
        expect(await finalize(0n, 1, asked)).toMatchObject(refusal);
        it.clock.advance(60_000);
        expect(await it.store.dropCommits(chainId)).toBe(1);
        expect(await it.stands(exposure)).toEqual([[0, 0]]);
        expect(await it.store.reservations(chainId)).toEqual([]);
      },
    );
  });

  describe('commits of one sender', () => {
    const key = (n: bigint) => n << 64n;

    test('have one per nonce key: the newer one replaces the older one', async () => {
      await it.deposit(1000);
      await commit(key(1n), 1);
      await commit(key(1n) + 1n, 2);
      expect(await finalize(key(1n), 1)).toEqual(notCommitted);
      expect(await it.store.dropCommits(chainId)).toBe(1);
      expect(await taken()).toEqual([30, 1, 30]);
      expect(await finalize(key(1n) + 1n, 2)).toEqual(reserved);
    });

    test('of one operation replace each other; the amounts of both stay until the newer one is over', async () => {
      await it.deposit(1000);
      await commit(0n, 1, { limits: [aSpend(80)] });
      await commit(0n, 2, { limits: [aSpend(20)] });
      expect(await finalize(0n, 1)).toEqual(notCommitted);
      expect(await finalize(0n, 2, { limits: [aSpend(20)] })).toEqual(reserved);
      expect((await taken())[0]).toBe(80);
      it.clock.advance(60_000);
      await it.store.dropCommits(chainId);
      expect((await taken())[0]).toBe(20);
    });

    test('are four at most: a fifth replaces the one that ends first', async () => {
      await it.deposit(1000);
      const cheap = { limits: [aLimit()], holds: [], accounts: [aNeed(1)] };
      for (const n of [1n, 2n, 3n, 4n, 5n]) {
        expect(await commit(key(n), 1, cheap)).toEqual(reserved);
        it.clock.advance(1_000);
      }
      expect(await finalize(key(1n), 1, cheap)).toEqual(notCommitted);
      for (const n of [2n, 3n, 4n, 5n]) expect(await finalize(key(n), 1, cheap)).toEqual(reserved);
      expect(await it.store.dropCommits(chainId)).toBe(1);
    });

    test('do not replace those of another sender, paymaster or EntryPoint', async () => {
      await it.deposit(1000);
      await commit(0n);
      for (const other of [{ sender: anAddress(7) }, { entryPoint: anAddress(8) }, { paymasterId: 'pm-2' }])
        expect(await commit(1n, 1, { limits: [], holds: [], accounts: [], key: other })).toEqual(reserved);
      expect(await finalize(0n)).toEqual(reserved);
    });
  });
}

type Change = NonNullable<Parameters<typeof aRequest>[0]>;
