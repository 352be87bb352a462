/** How a chain charges for the data that its roll-up posts to layer 1, as in `ChainSpec.dataFee`. */
export type DataFeeSpec = {
  readonly kind: DataFeeKindName;
  /** Kind Factor only: how often our own preVerificationGas counts, as decimal text from 1 to 1000. */
  readonly factor?: string;
  /**
   * The most that the data fee counts in the figure of which the default cap on preVerificationGas is twice, in coins
   * per operation, as decimal text. Default {@link defaultMaxDataFee}.
   */
  readonly maxFee?: string;
};

export const dataFeeKindNames = ['None', 'OpStack', 'Arbitrum', 'Bundler', 'Factor'] as const;
export type DataFeeKindName = (typeof dataFeeKindNames)[number];

/**
 * A hundred times what an operation costs on the roll-ups of today in a busy hour. It does not float, because an oracle
 * that lies could otherwise raise every cap.
 */
export const defaultMaxDataFee = '0.001';
