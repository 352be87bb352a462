import type { DataFeeKindName } from '../../core/chain/data-fee/spec.js';
import { arbitrumOracle } from './arbitrum.js';
import { opStackOracle } from './op-stack.js';
import type { DataFeeOracle } from './oracle.js';

/** What is read for each kind; undefined for kinds that need no price. */
export const dataFeeOracles: Readonly<Record<DataFeeKindName, DataFeeOracle | undefined>> = {
  None: undefined,
  OpStack: opStackOracle,
  Arbitrum: arbitrumOracle,
  Bundler: undefined,
  Factor: undefined,
};
