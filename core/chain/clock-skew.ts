import { toSeconds } from '../units/time.js';
import type { EpochMs } from '../units/time.js';

/** How far a chain is ahead of our clock: a block is never made in the future, so one of the two clocks is wrong. */
export type ClockSkew = 'InStep' | 'Ahead' | 'FarAhead';

const toldAboveSeconds = 30;
/** Beyond this the chain would find expired what we sign as valid. */
const refusedAboveSeconds = 120;

/** `timestamp` is that of the chain's newest block, in Unix seconds. A chain that lags, or makes no blocks, is in step. */
export function clockSkew(timestamp: number, now: EpochMs): ClockSkew {
  const aheadSeconds = timestamp - toSeconds(now);
  if (aheadSeconds > refusedAboveSeconds) return 'FarAhead';
  return aheadSeconds > toldAboveSeconds ? 'Ahead' : 'InStep';
}
