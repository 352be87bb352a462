import { divideUp } from '../../units/divide.js';
import type { DataFeeKind } from './kind.js';

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
