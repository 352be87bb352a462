import type { DataFeeSpec } from './spec.js';

/** One way in which chains charge for posted data. A row of `kinds.ts`. */
export type DataFeeKind = {
  /** True when {@link gas} needs a price that has to be read from the chain. */
  readonly isFollowed: boolean;
  /**
   * Gas that the data fee adds to preVerificationGas; rounds up. `price` is the oracle's, in the unit of the kind; 0 for
   * a kind that is not followed.
   */
  readonly gas: (posted: PostedOperation, spec: DataFeeSpec, price: bigint) => bigint;
};

/** An operation as a bundler posts it, in a separate bundle. */
type PostedOperation = {
  /** The signed transaction. Built when a kind asks for it. */
  readonly transaction: () => Uint8Array;
  /** Bytes that come on top, and that no compression makes smaller. */
  readonly moreBytes: number;
  /** Our preVerificationGas without the data fee. */
  readonly ownGas: bigint;
  /** What bundlers count on per gas, in wei; at least 1. */
  readonly gasPrice: bigint;
};
