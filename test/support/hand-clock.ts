import type { EpochMs } from '../../core/units/time.js';
import { startMs } from '../conformance/usage-requests.js';

export type HandClock = { now(): EpochMs; advance(ms: number): void };

/** A clock that moves by hand. */
export function aHandClock(at: EpochMs = startMs): HandClock {
  let now: number = at;
  return {
    now: () => now as EpochMs,
    advance: (ms) => {
      now += ms;
    },
  };
}
