import type { Chain } from '../../core/chain/chain.js';

/** Reads what a kind of data fee needs to know. */
export type DataFeeOracle = {
  /** For people: what is asked, e.g. `GasPriceOracle 0x4200…000F`. */
  readonly name: string;
  /**
   * The price in the unit of the kind. Throws {@link OracleUnsupported}, and DomainError UNAVAILABLE when the node does
   * not answer.
   */
  readonly read: (chain: Pick<Chain, 'call' | 'words'>) => Promise<bigint>;
};

/** The chain answers, but not as this kind of data fee expects. The message is the rest of a sentence about the oracle. */
export class OracleUnsupported extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'OracleUnsupported';
  }
}
