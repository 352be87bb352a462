import type { ErrorReason } from '../../core/error-reasons.js';
import { DomainError } from '../../core/errors.js';
import type { RateLimit } from '../../core/resources/schema-parts.js';
import type { Clock } from '../../core/units/time.js';

/**
 * Token buckets, one per name: `requests` per `perSeconds`, burst = `requests`. When there are too many buckets, the
 * least recently used one is forgotten. A bucket that was not used for a while is full again anyway, so memory is
 * bounded, and a caller gains at most one burst.
 */
export type RateLimiter = ReturnType<typeof createRateLimiter>;

type Bucket = { tokens: number; at: number };

const maxBuckets = 50_000;

export function createRateLimiter({ clock }: { readonly clock: Clock }) {
  // A Map keeps insertion order; re-inserting on use makes its first key the least recently used one.
  const buckets = new Map<string, Bucket>();

  return {
    /** 0 when the request may pass (it is then counted), else the seconds until a request may pass. */
    take(name: string, { requests, perSeconds }: RateLimit): number {
      const now = clock.now();
      const bucket = buckets.get(name) ?? { tokens: requests, at: now };
      const perMs = requests / (perSeconds * 1000);
      const elapsedMs = Math.max(0, now - bucket.at);
      bucket.tokens = Math.min(requests, bucket.tokens + elapsedMs * perMs);
      bucket.at = now;
      buckets.delete(name);
      buckets.set(name, bucket);
      // Looked for only when it must go: the first key of a Map is found by a walk over those that were deleted.
      if (buckets.size > maxBuckets) buckets.delete(buckets.keys().next().value ?? name);
      if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / perMs / 1000);
      bucket.tokens -= 1;
      return 0;
    },
    /** Takes back what a request was counted for. */
    giveBack(name: string): void {
      const bucket = buckets.get(name);
      if (bucket !== undefined) bucket.tokens += 1;
    },
  };
}

/** Throws RATE_LIMITED for what a limiter has answered, but for 0. */
export function requireRoom(retryAfterSeconds: number, message: string): void {
  if (retryAfterSeconds > 0) throw new DomainError('RATE_LIMITED', message, { retryAfterSeconds });
}

/** For what the next second may have room for. */
export function limited(reason: ErrorReason, message: string): DomainError {
  return new DomainError('RATE_LIMITED', message, { reason, retryAfterSeconds: 1 });
}
