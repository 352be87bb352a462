import { plusMs, type EpochMs } from '../units/time.js';
import { faulty, refused, type RefusedPrice } from './price-source.js';

/** If a source's clock is further ahead of ours than this, its price is refused, because we cannot know its age. */
const toleratedAheadMs = 120_000;

/** Refuses an answer whose time is too long ago or in the future; undefined when the answer may be used. */
export function checkAge(
  source: string,
  observedAt: EpochMs,
  maxAgeSeconds: number,
  now: EpochMs,
): RefusedPrice | undefined {
  const ageMs = now - observedAt;
  if (ageMs < -toleratedAheadMs)
    return faulty(
      source,
      'OUT_OF_RANGE',
      `was updated ${Math.ceil(-ageMs / 1000)} s in the future, at most ${toleratedAheadMs / 1000} s are tolerated`,
    );
  // A price of exactly the greatest age is stale: `staleAt` is the first moment at which it is refused.
  if (now < staleAtOf(observedAt, maxAgeSeconds)) return undefined;
  return refused({ source, reason: 'STALE', ageSeconds: Math.floor(ageMs / 1000), maxAgeSeconds });
}

export function staleAtOf(observedAt: EpochMs, maxAgeSeconds: number): EpochMs {
  return plusMs(observedAt, maxAgeSeconds * 1000);
}
