import { type EpochMs, toSeconds } from '../units/time.js';

/**
 * The newest block that the follower has seen, and the network's fees. Price guards read it; it is never fetched per
 * request.
 */
export type Head = {
  readonly number: number;
  /** Unix seconds. */
  readonly timestamp: number;
  readonly baseFeePerGas: bigint;
  readonly priorityFeePerGas: bigint;
  readonly observedAt: EpochMs;
};

/** Undefined until the chain has been read once. */
export type Heads = { get(chainId: number): Head | undefined };

/**
 * How far a chain is ahead of our clock. No block is made in the future, so when it is ahead one of the two clocks is
 * wrong.
 */
export type ClockSkew = 'InStep' | 'Ahead' | 'FarAhead';

const toldAboveSeconds = 30;
/** Above this skew the chain would see our signatures as expired. */
const refusedAboveSeconds = 120;

/**
 * `timestamp` is that of the chain's newest block, in Unix seconds. A chain that lags, or makes no blocks, counts as
 * in step.
 */
export function clockSkew(timestamp: number, now: EpochMs): ClockSkew {
  const aheadSeconds = timestamp - toSeconds(now);
  if (aheadSeconds > refusedAboveSeconds) return 'FarAhead';
  return aheadSeconds > toldAboveSeconds ? 'Ahead' : 'InStep';
}
