import { describe, expect, test } from '@jest/globals';
import { anHour, aHold, aLimit, anAddress, aNeed, aRequest, aSpend } from '../usage-requests.js';
import { reserved, type Suite } from './suite.js';

/** Requests that come together: stores may decide them in one step, and each must get its own answer. */
export function atOnceConformance(it: Suite): void {
  describe('requests that come at once', () => {
    test('each is decided by itself, independent of the others and their results', async () => {
      await it.deposit(100);
      const last = aLimit({ counter: 'last', threshold: 1 });
      const results = await Promise.allSettled(
        [
          aRequest({ key: { nonce: 1n }, limits: [last, aSpend(60)], accounts: [aNeed(60)] }),
          aRequest({ key: { nonce: 2n }, limits: [aSpend(10), last] }),
          aRequest({ key: { nonce: 3n }, limits: [aLimit({ window: anHour(5) })] }),
          aRequest({ key: { nonce: 4n }, limits: [aLimit(), aLimit()] }),
          aRequest({ key: { nonce: 5n }, accounts: [aNeed(1, { contract: anAddress(0xdead) })] }),
          aRequest({ key: { nonce: 6n }, holds: [aHold(101)] }),
          aRequest({ key: { nonce: 7n }, generation: 2 }),
          aRequest({ key: { nonce: 8n }, generation: 1 }),
          aRequest({ key: { nonce: 9n }, generation: 2, limits: [aSpend(40)], accounts: [aNeed(41)] }),
          aRequest({ key: { nonce: 1n }, generation: 2, limits: [last, aSpend(60)], accounts: [aNeed(60)] }),
          aRequest({ key: { nonce: 10n }, generation: 2, limits: [aSpend(40)], accounts: [aNeed(40)] }),
        ].map(async (request) => it.store.reserve(request)),
      );
      expect(results).toMatchObject([
        { value: reserved },
        { value: { outcome: 'limit', index: 1, used: 1 } },
        { value: { outcome: 'turned' } },
        { reason: { code: 'INTERNAL' } },
        { reason: { code: 'UNAVAILABLE' } },
        { value: { outcome: 'held', index: 0, taken: 0, most: 100 } },
        { value: reserved },
        { value: { outcome: 'stale' } },
        { value: { outcome: 'deposit', index: 0, balance: 100, reserved: 60 } },
        { value: reserved },
        { value: reserved },
      ]);
      expect(await it.stands(last, aSpend(1))).toEqual([
        [0, 1],
        [0, 100],
      ]);
    });

    test('each peek shows its own counters', async () => {
      await it.deposit(100);
      await it.store.reserve(aRequest({ key: { nonce: 1n }, limits: [aSpend(60)], accounts: [aNeed(60)] }));
      const peeked = await Promise.all([
        it.store.peek(aRequest({ key: { nonce: 2n }, limits: [aLimit(), aSpend(41)], holds: [aHold(1)] })),
        it.store.peek(aRequest({ key: { nonce: 3n }, limits: [aLimit({ window: anHour(5) })] })),
        it.store.peek(aRequest({ key: { nonce: 4n }, accounts: [aNeed(40)] })),
      ]);
      expect(peeked[0]).toMatchObject({
        result: { outcome: 'limit', index: 1, used: 60 },
        limits: [
          { used: 0, reserved: 0 },
          { used: 0, reserved: 60 },
        ],
        holds: [{ taken: 0, most: 100 }],
      });
      expect(peeked[1]?.result.outcome).toBe('turned');
      expect(peeked[2]).toMatchObject({ result: reserved, accounts: [{ balance: 100, reserved: 60 }] });
    });
  });
}
