import { describe, expect, test } from '@jest/globals';
import { contractFence } from '../../../core/usage/counter-names.js';
import { always, never } from '../../../core/usage/window.js';
import type { EpochMs } from '../../../core/units/time.js';
import { aHold, aLimit, aRequest, chainId, contract, hourMs, seconds, startMs } from '../usage-requests.js';
import { lost, reserved, type Suite } from './suite.js';

/** By how much the clocks of store and chain may differ. */
const skewMs = 120_000;

/** Old data are lost data: the store never trusts data that are missing, or older than data that it has seen. */
export function lossConformance(it: Suite): void {
  describe('loss of data', () => {
    const week = { from: startMs, until: (startMs + 168 * hourMs) as EpochMs };
    const limit = (change = {}) => aLimit({ counter: 'week', window: week, threshold: 5, ...change });
    const one = (nonce: bigint, change: Parameters<typeof aRequest>[0] = {}) =>
      aRequest({ key: { nonce }, limits: [limit()], ...change });
    const isLost = async () => {
      for (const call of [
        () => it.store.reserve(one(99n)),
        () => it.store.peek(one(99n)),
        () => it.store.counters(chainId, [limit()]),
        () => it.store.cursor(chainId),
        () => it.store.reservations(chainId),
        () => it.store.accounts(chainId),
      ])
        await expect(call()).rejects.toMatchObject(lost);
      // The server answers, but its data cannot be trusted.
      await it.store.ping();
    };
    /** Recovers once every earlier promise has expired. */
    const recovered = async () => {
      it.clock.advance(24 * hourMs);
      expect(await it.store.recovery.recover(chainId)).toBe('recovered');
    };

    test('data that are gone stop the chain until every promise has expired, and lost windows until they turn', async () => {
      it.clock.advance(60_000);
      expect(await it.store.reserve(one(1n, { promise: { validUntil: seconds(600) } }))).toEqual(reserved);
      await it.harness.mirrored();
      await it.replaced('wipe');
      await isLost();
      expect(await it.store.recovery.recover(chainId)).toBe('waiting');
      it.clock.advance(seconds(600) * 1000 + skewMs - it.clock.now() - 1);
      // The longest expiry is noted in steps, so the wait may be longer than that of this promise, never shorter.
      expect(await it.store.recovery.recover(chainId)).toBe('waiting');
      await isLost();
      await recovered();
      expect(await it.store.recovery.recover(chainId)).toBe('intact');
      expect(await it.store.reserve(one(1n))).toEqual({ outcome: 'usage-lost', index: 0 });
      // A window that began after the loss is known from its beginning on.
      const now = it.clock.now();
      const fresh = limit({ counter: 'fresh', window: { from: now, until: (now + hourMs) as EpochMs } });
      const after = { promise: { validUntil: seconds(48 * 3600) } };
      expect(await it.store.reserve(one(2n, { limits: [fresh], ...after }))).toEqual(reserved);
      await it.replaced('reopen');
      expect(await it.store.reserve(one(1n))).toEqual({ outcome: 'usage-lost', index: 0 });
      expect((await it.store.peek(one(1n))).result).toEqual({ outcome: 'usage-lost', index: 0 });
    });

    test('a restart does not begin the wait again', async () => {
      await it.store.reserve(one(1n));
      await it.harness.mirrored();
      await it.replaced('wipe');
      expect(await it.store.recovery.recover(chainId)).toBe('waiting');
      it.clock.advance(24 * hourMs);
      await it.replaced('reopen');
      expect(await it.store.recovery.recover(chainId)).toBe('recovered');
    });

    test('holds, bars and limits that refuse nothing have no window that could be lost', async () => {
      await it.store.reserve(one(1n));
      await it.harness.mirrored();
      await it.replaced('wipe');
      expect(await it.store.recovery.recover(chainId)).toBe('waiting');
      await recovered();
      const request = one(1n, {
        limits: [limit({ enforce: false })],
        holds: [aHold(1)],
        bars: [{ counter: 'loss', unit: 'NATIVE_ASSET', window: always, most: 0 }],
      });
      expect(await it.store.reserve(request)).toMatchObject(reserved);
    });

    test('a window that never ends refuses until it is stated to begin after the loss', async () => {
      const from = (at: number) =>
        one(9n, { limits: [limit({ window: { from: at as EpochMs, until: never } })] });
      await it.store.reserve(one(1n));
      await it.harness.mirrored();
      await it.replaced('wipe');
      expect(await it.store.recovery.recover(chainId)).toBe('waiting');
      await recovered();
      it.clock.advance(365 * 24 * hourMs);
      expect(await it.store.reserve(from(startMs))).toEqual({ outcome: 'usage-lost', index: 0 });
      expect(await it.store.reserve(from(it.clock.now()))).toEqual(reserved);
    });

    test('a promise for longer than any before is noted first, and a loss waits for it', async () => {
      await it.store.reserve(one(1n));
      await it.store.reserve(one(2n, { promise: { validUntil: seconds(5 * 3600) } }));
      await it.replaced('wipe');
      expect(await it.store.recovery.recover(chainId)).toBe('waiting');
      it.clock.advance(5 * hourMs + skewMs - 1);
      expect(await it.store.recovery.recover(chainId)).toBe('waiting');
      await recovered();
    });

    test('data that come back with everything in them are taken up again', async () => {
      await it.store.reserve(one(1n));
      await it.harness.mirrored();
      await it.harness.takeCopy();
      await it.replaced('wipe');
      expect(await it.store.recovery.recover(chainId)).toBe('waiting');
      await it.replaced('putCopyBack');
      expect(await it.store.recovery.recover(chainId)).toBe('intact');
      expect(await it.store.reserve(one(2n))).toEqual(reserved);
      expect(await it.stands(limit())).toEqual([[0, 2]]);
    });

    test('an old backup is lost data: 2 of 5, backup, 3 more, restored, and nothing more', async () => {
      await it.passed(2, one);
      await it.harness.takeCopy();
      for (const nonce of [2n, 3n, 4n]) expect(await it.store.reserve(one(nonce))).toEqual(reserved);
      await it.harness.mirrored();
      await it.replaced('putCopyBack');
      await isLost();
      expect(await it.store.recovery.recover(chainId)).toBe('waiting');
      await recovered();
      expect(await it.store.reserve(one(5n))).toEqual({ outcome: 'usage-lost', index: 0 });
    });

    test('a copy without the very last write, put under the feet of a process, is noticed by that process at once', async () => {
      if (it.harness.putCopyBackUnderneath === undefined) return;
      await it.passed(4, one);
      await it.harness.takeCopy();
      expect(await it.store.reserve(one(4n))).toEqual(reserved);
      await it.harness.putCopyBackUnderneath();
      await expect(it.store.reserve(one(5n))).rejects.toMatchObject(lost);
    });

    test('suspensions and settlements count as data: a copy without them is old', async () => {
      await it.store.reserve(one(1n));
      await it.harness.takeCopy();
      await it.store.setSuspended(chainId, contractFence(contract), true);
      await it.harness.mirrored();
      await it.replaced('putCopyBack');
      await isLost();
    });
  });
}
