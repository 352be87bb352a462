import { afterEach, describe, expect, test } from '@jest/globals';
import {
  createMemoryEpochMirror,
  type EpochMirror,
  type UsageRecovery,
} from '../../core/policy/usage-epoch.js';
import type { UsageStore } from '../../core/policy/usage-store.js';
import type { EpochMs } from '../../core/units/time.js';
import { aLimit, aRequest, chainId, hourMs, seconds, startMs } from './usage-requests.js';

export type EpochHarness = {
  readonly clock: { now(): EpochMs; advance(ms: number): void };
  /**
   * The store over the data that were written before, or over a place that had none at first; what was opened before is
   * stopped.
   */
  open(data: 'kept' | 'missing', epochMirror: EpochMirror): Promise<LosableUsage>;
  stop(): Promise<void>;
};
export type LosableUsage = UsageStore & { readonly recovery: UsageRecovery };

const reserved = { outcome: 'reserved' };
const lost = { code: 'UNAVAILABLE', details: { reason: 'USAGE_STORE_LOST' } };
/** By how much the clocks of store and chain may differ. */
const skewMs = 120_000;

/** What every usage store does about the loss of its data, of which a copy of the epoch tells. */
export function usageEpochConformance(implementation: string, create: () => Promise<EpochHarness>): void {
  describe(`usage epochs: ${implementation}`, () => {
    let harness: EpochHarness;
    afterEach(() => harness.stop());

    const shortLimit = aLimit({ policyId: 'short', threshold: 3 });
    const request = (nonce: bigint, change: Partial<ReturnType<typeof aLimit>> = {}) =>
      aRequest({ key: { nonce }, limits: [shortLimit, aLimit({ durationMs: 24 * hourMs, ...change })] });

    test('data that are gone bar the chain until every promise has expired, and lost windows until they turn', async () => {
      harness = await create();
      const { clock } = harness;
      clock.advance(60_000);
      const mirror = createMemoryEpochMirror();
      const first = await harness.open('kept', mirror);
      expect(await first.reserve(request(1n))).toEqual(reserved);
      const { longestExpiryMs } = (await mirror.get(chainId)) ?? { longestExpiryMs: Number.NaN };

      let store = await harness.open('missing', mirror);
      await expect(store.reserve(request(2n))).rejects.toMatchObject(lost);
      await expect(store.peek(request(2n))).rejects.toMatchObject(lost);
      await expect(store.cursor(chainId)).rejects.toMatchObject(lost);
      await expect(store.reservations(chainId)).rejects.toMatchObject(lost);
      await expect(store.accounts(chainId)).rejects.toMatchObject(lost);
      await expect(store.ping()).resolves.toBeUndefined();

      expect(await store.recovery.recover(chainId)).toBe('waiting');
      // A restart does not begin the wait again.
      store = await harness.open('missing', mirror);
      clock.advance(longestExpiryMs);
      expect(await store.recovery.recover(chainId)).toBe('waiting');
      await expect(store.reserve(request(2n))).rejects.toMatchObject(lost);
      clock.advance(skewMs);
      expect(await store.recovery.recover(chainId)).toBe('recovered');
      expect(await store.recovery.recover(chainId)).toBe('intact');

      // Both windows began before the loss; each refuses until it turns, also after a restart.
      const later = (nonce: bigint) => ({ ...request(nonce), validUntil: seconds(48 * 3600) });
      const { resetsAt } = (await store.peek(later(2n))).limits[0] ?? { resetsAt: startMs };
      expect(await store.reserve(later(2n))).toEqual({ outcome: 'usage-lost', index: 0, resetsAt });
      store = await harness.open('missing', mirror);
      expect(await store.reserve(later(2n))).toEqual({ outcome: 'usage-lost', index: 0, resetsAt });
      clock.advance(resetsAt - clock.now());
      const ofDay = { outcome: 'usage-lost', index: 1, resetsAt: startMs + 24 * hourMs };
      expect(await store.reserve(later(2n))).toEqual(ofDay);
      // An updated limit has a cycle of its own, which began after the loss.
      const updated = { ...request(2n, { startMs: clock.now() }), validUntil: seconds(48 * 3600) };
      expect(await store.reserve(updated)).toEqual(reserved);
      clock.advance(24 * hourMs);
      expect(await store.reserve(later(3n))).toEqual(reserved);
    });

    test('a promise for longer than any before is noted in the copy first, and a loss waits for it', async () => {
      harness = await create();
      const mirror = createMemoryEpochMirror();
      const store = await harness.open('kept', mirror);
      expect(await store.reserve(request(1n))).toEqual(reserved);
      const usual = (await mirror.get(chainId))?.longestExpiryMs ?? Number.NaN;
      expect(usual).toBeLessThan(5 * hourMs);
      expect(await store.reserve({ ...request(2n), validUntil: seconds(5 * 3600) })).toEqual(reserved);
      const longest = (await mirror.get(chainId))?.longestExpiryMs ?? Number.NaN;
      expect(longest).toBeGreaterThanOrEqual(5 * hourMs);

      const empty = await harness.open('missing', mirror);
      await expect(empty.cursor(chainId)).rejects.toMatchObject(lost);
      expect(await empty.recovery.recover(chainId)).toBe('waiting');
      harness.clock.advance(longest);
      expect(await empty.recovery.recover(chainId)).toBe('waiting');
      harness.clock.advance(skewMs);
      expect(await empty.recovery.recover(chainId)).toBe('recovered');
      expect((await mirror.get(chainId))?.longestExpiryMs).toBe(longest);
    });

    test('data that come back after they were missed are taken up again', async () => {
      harness = await create();
      const mirror = createMemoryEpochMirror();
      const store = await harness.open('kept', mirror);
      expect(await store.reserve(request(1n))).toEqual(reserved);
      const empty = await harness.open('missing', mirror);
      await expect(empty.reserve(request(2n))).rejects.toMatchObject(lost);
      expect(await empty.recovery.recover(chainId)).toBe('waiting');

      const back = await harness.open('kept', mirror);
      expect(await back.recovery.recover(chainId)).toBe('intact');
      expect((await mirror.get(chainId))?.lostAt).toBeUndefined();
      expect(await back.reserve(request(2n))).toEqual(reserved);
      expect((await back.peek(request(3n))).limits[0]).toMatchObject({ used: 2 });
    });

    test('data of another epoch are not those of the copy', async () => {
      harness = await create();
      const other = await harness.open('missing', createMemoryEpochMirror());
      expect(await other.reserve(request(1n))).toEqual(reserved);
      const mirror = createMemoryEpochMirror();
      const store = await harness.open('kept', mirror);
      expect(await store.reserve(request(1n))).toEqual(reserved);
      const astray = await harness.open('missing', mirror);
      await expect(astray.reserve(request(2n))).rejects.toMatchObject(lost);
    });

    test('data without a copy are trusted, and copied', async () => {
      harness = await create();
      const store = await harness.open('kept', createMemoryEpochMirror());
      expect(await store.reserve(request(1n))).toEqual(reserved);
      const mirror = createMemoryEpochMirror();
      const again = await harness.open('kept', mirror);
      expect(await again.reserve(request(2n))).toEqual(reserved);
      expect((await again.peek(request(3n))).limits[0]).toMatchObject({ used: 2 });
      expect((await mirror.get(chainId))?.since).toBe(0);
    });
  });
}
