import type { Clock } from '../../core/units/time.js';

/** How long a key waits before it is tried again; a port of client-go's default limiter. */
export type RateLimiter = ReturnType<typeof createRateLimiter>;

type RateLimits = {
  readonly firstMs: number;
  readonly maxMs: number;
  /** Retries per second over all keys, and how many may come at once. */
  readonly perSecond: number;
  readonly burst: number;
};

const clientGoLimits: RateLimits = { firstMs: 5, maxMs: 1_000_000, perSecond: 10, burst: 100 };

/**
 * The longer of two waits. Per key: doubling from 5 ms to 1000 s, so that a key that always fails grows quiet. Over all
 * keys: a bucket of 10 per second with a burst of 100, so that an outage that fails every key does not become a storm.
 */
export function createRateLimiter(clock: Clock, limits: RateLimits = clientGoLimits) {
  const failures = new Map<string, number>();
  const bucket = createBucket(clock, limits);
  return {
    /** Milliseconds to wait; counts a failure of the key. */
    when(key: string): number {
      const count = failures.get(key) ?? 0;
      failures.set(key, count + 1);
      // 2 ** 1024 is Infinity, which Math.min brings back to the bound: no overflow however often a key fails.
      return Math.max(Math.min(limits.firstMs * 2 ** count, limits.maxMs), bucket.reserve());
    },
    /** Failures of the key since it was last forgotten. */
    retries: (key: string): number => failures.get(key) ?? 0,
    /** The key succeeded, or will not be tried again. */
    forget: (key: string): void => void failures.delete(key),
  };
}

/** A token bucket that goes into debt: each reservation returns when its token will be available. */
function createBucket(clock: Clock, { perSecond, burst }: RateLimits): { reserve(): number } {
  let tokens = burst;
  let countedAt = clock.now();
  return {
    reserve() {
      const now = clock.now();
      // A clock that was set back adds no tokens and takes none.
      tokens = Math.min(burst, tokens + (Math.max(0, now - countedAt) / 1000) * perSecond) - 1;
      countedAt = now;
      return tokens >= 0 ? 0 : (-tokens / perSecond) * 1000;
    },
  };
}
