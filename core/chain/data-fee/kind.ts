import type { DataFeeSpec } from './spec.js';
import { divideUp } from '../../units/wei.js';

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

export type DataFeeFormula = {
  /** Size of a transaction as the chain counts it, in bytes. */
  readonly size: (transaction: Uint8Array) => number;
  /** Wei for a transaction of `size` counted bytes at the oracle's price; rounds up. */
  readonly fee: (size: number, price: bigint) => bigint;
};

/** A kind that charges coins for bytes: the operation pays them as gas at its own price. */
export function byBytes({ size, fee }: DataFeeFormula): DataFeeKind {
  return {
    isFollowed: true,
    gas: ({ transaction, moreBytes, gasPrice }, _spec, price) =>
      price === 0n ? 0n : divideUp(fee(size(transaction()) + moreBytes, price), gasPrice),
  };
}
