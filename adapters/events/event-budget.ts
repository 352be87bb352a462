import type { Clock, EpochMs } from '../../core/units/time.js';

const burst = 25;
const refillMs = 5 * 60_000;
const maxObjects = 4_096;

/** How many events one object may have: 25 at once and one more every five minutes, as in client-go. */
export function createEventBudget(clock: Clock): { take(uid: string): boolean } {
  const buckets = new Map<string, { tokens: number; at: EpochMs }>();
  return {
    take(uid) {
      const now = clock.now();
      const bucket = buckets.get(uid) ?? { tokens: burst, at: now };
      bucket.tokens = Math.min(burst, bucket.tokens + Math.max(0, now - bucket.at) / refillMs);
      bucket.at = now;
      // Kept in the order of use, so that the oldest is forgotten first.
      buckets.delete(uid);
      buckets.set(uid, bucket);
      for (const oldest of buckets.keys()) {
        if (buckets.size <= maxObjects) break;
        buckets.delete(oldest);
      }
      if (bucket.tokens < 1) return false;
      bucket.tokens -= 1;
      return true;
    },
  };
}
