import type { EpochMs } from '../../../core/units/time.js';
import { startMs } from '../../conformance/usage-requests.js';

/** A clock that moves by hand. */
export function aClock(at: EpochMs = startMs): { now(): EpochMs; advance(ms: number): void } {
  let now: number = at;
  return {
    now: () => now as EpochMs,
    advance: (ms) => {
      now += ms;
    },
  };
}
