import type { EpochMs } from '../units/time.js';

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
