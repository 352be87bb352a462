import { describe, expect, test } from '@jest/globals';
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
  aSpend,
  chainId,
  hourMs,
  seconds,
  sorted,
} from '../usage-requests.js';
import { reserved, type Suite } from './suite.js';

/** The follower's step: how a reservation ends. */
export function settlingConformance(it: Suite): void {
  const ask = { limits: [aLimit(), aSpend(60)], holds: [aHold(60)], accounts: [aNeed(60)] };
  const everything = async () => ({
    counters: await it.stands(aLimit(), aSpend(0), aHold(0)),
    promised: (await it.store.accounts(chainId)).map(({ reserved: of }) => of),
    live: await it.store.liveCount(chainId),
  });

  describe('the follower', () => {
    test('settling moves an amount to what it cost, keeps a count, frees hold and deposit', async () => {
      await it.deposit(100);
      await it.store.reserve(aRequest(ask));
      await it.advance({ settled: [{ key: aKey(), actualCost: gwei(25) }] });
      expect(await everything()).toEqual({
        counters: [
          [1, 0],
          [25, 0],
          [0, 0],
        ],
        promised: [0],
        live: 0,
      });
    });

    test('a settled reservation adds at most what it reserved to each of its limits, whatever it cost', async () => {
      await it.store.reserve(aRequest({ limits: [aLimit(), aSpend(60), aSpend(7, { counter: 'small' })] }));
      await it.advance({ settled: [{ key: aKey(), actualCost: gwei(5000) }] });
      expect(await it.stands(aLimit(), aSpend(0), aSpend(0, { counter: 'small' }))).toEqual([
        [1, 0],
        [60, 0],
        [7, 0],
      ]);
    });

    test('a settled token payment spends nothing', async () => {
      await it.deposit(100);
      await it.store.reserve(aRequest({ ...ask, promise: { mode: 'ERC20' } }));
      await it.advance({ settled: [{ key: aKey(), actualCost: undefined }] });
      expect(await everything()).toEqual({
        counters: [
          [0, 0],
          [0, 0],
          [0, 0],
        ],
        promised: [0],
        live: 0,
      });
    });

    test('settling is also about what was added since the reservation was read', async () => {
      await it.store.reserve(aRequest({ limits: [aSpend(10)] }));
      await it.store.reserve(aRequest({ limits: [aSpend(60)], promise: { digest: aDigest(2) } }));
      await it.advance({ settled: [{ key: aKey(), actualCost: gwei(50) }] });
      expect(await it.stands(aSpend(0))).toEqual([[50, 0]]);
      expect(await it.store.liveCount(chainId)).toBe(0);
    });

    test('a promise counts in the window in which it was reserved, also when it is settled later', async () => {
      const later = { ...aLimit({ counter: 'next', window: anHour(1) }) };
      await it.store.reserve(aRequest({ limits: [aLimit()], promise: { validUntil: seconds(7200) } }));
      it.clock.advance(hourMs);
      await it.store.reserve(aRequest({ key: { nonce: 1n }, limits: [later] }));
      await it.advance({ settled: [{ key: aKey(), actualCost: gwei(1) }] });
      expect(await it.stands(later)).toEqual([[0, 1]]);
    });

    test('releasing gives back everything', async () => {
      await it.deposit(100);
      await it.store.reserve(aRequest(ask));
      await it.advance({ released: [{ key: aKey(), validUntil: seconds(300) }] });
      expect(await everything()).toEqual({
        counters: [
          [0, 0],
          [0, 0],
          [0, 0],
        ],
        promised: [0],
        live: 0,
      });
    });

    test('a release with a time leaves what was promised again, and so for longer; one without does not', async () => {
      await it.store.reserve(aRequest(ask2(300, 1)));
      await it.store.reserve(aRequest(ask2(301, 2)));
      await it.advance({ released: [{ key: aKey(), validUntil: seconds(300) }] });
      expect(await it.store.liveCount(chainId)).toBe(1);
      await it.advance({ released: [{ key: aKey(), validUntil: seconds(301) }] });
      expect(await it.store.liveCount(chainId)).toBe(0);
      await it.store.reserve(aRequest(ask2(999, 3)));
      await it.advance({ released: [{ key: aKey() }] });
      expect(await it.store.liveCount(chainId)).toBe(0);
    });

    test('forfeiting frees hold and deposit; limits keep the reserved cost until the window ends', async () => {
      await it.deposit(100);
      await it.store.reserve(aRequest(ask));
      await it.advance({ forfeited: [{ key: aKey() }] });
      expect((await it.stands(aLimit(), aSpend(0))).map(([used, held]) => used + held)).toEqual([1, 60]);
      expect(await it.stands(aHold(0))).toEqual([[0, 0]]);
      expect(await it.store.accounts(chainId)).toMatchObject([{ reserved: 0 }]);
      expect(await it.store.liveCount(chainId)).toBe(0);
      expect(await it.store.reserve(aRequest({ key: { nonce: 1n }, limits: [aSpend(41)] }))).toMatchObject({
        outcome: 'limit',
        used: 60,
      });
    });

    test('an operation that has ended may be reserved again and then counts again', async () => {
      await it.store.reserve(aRequest({ limits: [aLimit({ threshold: 2 })] }));
      await it.advance({ settled: [{ key: aKey(), actualCost: gwei(25) }] });
      expect(await it.store.reserve(aRequest({ limits: [aLimit({ threshold: 2 })] }))).toEqual(reserved);
      expect(await it.stands(aLimit())).toEqual([[1, 1]]);
    });

    test('what a step decides twice is decided by its first mention', async () => {
      for (const nonce of [1n, 2n, 3n])
        await it.store.reserve(
          aRequest({ key: { nonce }, limits: [aSpend(10, { counter: `of-${nonce}` })] }),
        );
      const key = (nonce: bigint) => aKey({ nonce });
      await it.advance({
        settled: [
          { key: key(1n), actualCost: gwei(3) },
          { key: key(1n), actualCost: gwei(9) },
          { key: key(2n), actualCost: gwei(4) },
        ],
        released: [{ key: key(2n) }, { key: key(3n) }, { key: key(3n) }],
        forfeited: [{ key: key(3n) }],
      });
      expect(await it.stands(...[1, 2, 3].map((n) => aSpend(0, { counter: `of-${n}` })))).toEqual([
        [3, 0],
        [4, 0],
        [0, 0],
      ]);
    });

    test('keys that no reservation has are ignored', async () => {
      await it.deposit(100);
      await it.store.reserve(aRequest(ask));
      const strange = { key: aKey({ nonce: 99n }) };
      await it.advance({
        settled: [{ ...strange, actualCost: gwei(1) }],
        released: [{ key: aKey({ sender: anAddress(9) }) }],
        forfeited: [{ key: aKey({ paymasterId: 'pm-9' }) }],
      });
      expect(await it.store.liveCount(chainId)).toBe(1);
      expect(await it.stands(aSpend(0))).toEqual([[0, 60]]);
    });

    test('a step is taken once: another cursor than the expected one changes nothing', async () => {
      const again = aRequest({ ...ask, accounts: [] });
      await it.store.reserve(again);
      const step = it.step({
        next: { blockNumber: 7, blockHash: aHash(7), timestamp: seconds(7) },
        settled: [{ key: aKey(), actualCost: gwei(25) }],
        charges: [{ ...aSpend(0), until: anHour().until, amount: 5 }],
      });
      expect(await it.store.advance(step)).toMatchObject({ isTaken: true });
      await it.store.reserve(again);
      const before = await everything();
      expect(await it.store.advance(step)).toEqual({ isTaken: false });
      const elsewhere = { ...step, expected: { ...step.next, blockHash: aHash(8) } };
      expect(await it.store.advance(elsewhere)).toEqual({ isTaken: false });
      expect(await everything()).toEqual(before);
      expect(await it.store.cursor(chainId)).toEqual(step.next);
      expect(await it.store.cursor(1)).toBeUndefined();
      await it.replaced('reopen');
      expect(await it.store.cursor(chainId)).toEqual(step.next);
      expect(await it.store.advance({ ...step, expected: step.next })).toMatchObject({ isTaken: true });
    });

    test('of two followers with the same cursor one takes the step', async () => {
      await it.store.reserve(aRequest({ limits: [aSpend(60)] }));
      const step = it.step({ settled: [{ key: aKey(), actualCost: gwei(25) }] });
      const taken = await Promise.all([
        it.store.advance(step),
        it.store.advance(step),
        it.store.advance(step),
      ]);
      expect(taken.filter(({ isTaken }) => isTaken)).toHaveLength(1);
      expect(await it.stands(aSpend(0))).toEqual([[25, 0]]);
    });

    test('a step answers what it has ended as that is then, not as it was read', async () => {
      const of = (cost: number) => aSpend(cost, { threshold: 1000 });
      for (const nonce of [0n, 1n, 2n, 3n])
        await it.store.reserve(aRequest({ key: { nonce }, limits: [of(60)] }));
      const read = await it.store.reservations(chainId);
      const later = { validUntil: seconds(400), digest: aDigest(9) };
      for (const nonce of [0n, 1n, 2n])
        await it.store.reserve(aRequest({ key: { nonce }, limits: [of(70)], promise: later }));
      const whole = it.step({
        settled: [
          { key: aKey({ nonce: 0n }), actualCost: gwei(25) },
          { key: aKey({ nonce: 9n }), actualCost: gwei(25) },
        ],
        // The last one was promised again since it was read, and stays.
        released: [0n, 1n, 2n].map((nonce) => ({
          key: aKey({ nonce }),
          ...(nonce === 2n ? { validUntil: read[0]!.validUntil } : {}),
        })),
        forfeited: [{ key: aKey({ nonce: 3n }) }],
      });
      const live = await it.store.reservations(chainId);
      const result = await it.store.advance(whole);
      const ended = result.isTaken ? sorted(result.ended) : [];
      expect(ended).toEqual(sorted(live.filter(({ key }) => key.nonce !== 2n)));
      expect(ended.map(({ promises }) => promises.length)).toEqual([2, 2, 1]);
    });

    test('a step is taken however often its reservations are promised again meanwhile', async () => {
      const asking = Array.from({ length: 20 }, (_, n) => BigInt(n));
      const request = (nonce: bigint, round: number) =>
        aRequest({
          key: { nonce },
          limits: [aSpend(round + 1, { threshold: 1_000_000 })],
          promise: { digest: aDigest(round), validUntil: seconds(300 + round) },
        });
      for (const nonce of asking) await it.store.reserve(request(nonce, 0));
      let round = 0;
      for (const settled of [asking.slice(0, 10), asking.slice(10)]) {
        const again: Promise<unknown>[] = [];
        const press = () => asking.map((nonce) => it.store.reserve(request(nonce, (round += 1))));
        again.push(...press());
        const step = it.advance({
          settled: settled.map((nonce) => ({ key: aKey({ nonce }), actualCost: gwei(1) })),
        });
        again.push(...press());
        await step;
        again.push(...press());
        await Promise.all(again);
      }
      // An operation that is requested again after its end is a new reservation.
      const live = await it.store.reservations(chainId);
      expect(new Set(live.map(({ key }) => key.nonce)).size).toBe(live.length);
      const [[used, held] = [0, 0]] = await it.stands(aSpend(0));
      expect(used).toBeGreaterThanOrEqual(20);
      expect(held).toBe(live.reduce((sum, { limits }) => sum + (limits[0]?.cost ?? 0), 0));
    });
  });
}

function ask2(after: number, n: number) {
  return { limits: [aLimit()], promise: { validUntil: seconds(after), digest: aDigest(n) } };
}
