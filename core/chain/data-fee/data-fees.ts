import type { EpochMs } from '../../units/time.js';

/** What an oracle said about the price of posted data. */
export type DataFeeReading = {
  /** In the unit of the chain's kind of data fee. */
  readonly price: bigint;
  /** When the chain was asked. */
  readonly observedAt: EpochMs;
};

/** Port: the last reading of each chain whose data fee is followed. Never read per request. */
export type DataFees = {
  /** Undefined until the oracle has answered once, and for kinds that are not followed. */
  get(chainId: number): DataFeeReading | undefined;
};
