import { plusMs, type EpochMs } from '../units/time.js';
import { refused, type RefusedPrice } from './price-source.js';

/** A source whose clock is further ahead of ours than this is not believed: its age could not be told. */
const toleratedAheadMs = 120_000;

/** Refuses an answer that its source gave too long ago, or says to have given in the future; undefined when it may be used. */
export function judgeAge(
  source: string,
  observedAt: EpochMs,
  maxAgeSeconds: number,
  now: EpochMs,
): RefusedPrice | undefined {
  const ageMs = now - observedAt;
  if (ageMs < -toleratedAheadMs)
    return refused({
      source,
      reason: 'OUT_OF_RANGE',
      detail: `was updated ${Math.ceil(-ageMs / 1000)} s in the future, at most ${toleratedAheadMs / 1000} s are tolerated`,
    });
  // A price of exactly the greatest age is stale: `staleAt` is the first instant at which it is refused.
  if (now < staleAtOf(observedAt, maxAgeSeconds)) return undefined;
  return refused({ source, reason: 'STALE', ageSeconds: Math.floor(ageMs / 1000), maxAgeSeconds });
}

export function staleAtOf(observedAt: EpochMs, maxAgeSeconds: number): EpochMs {
  return plusMs(observedAt, maxAgeSeconds * 1000);
}
