import { arbitrum } from './arbitrum/arbitrum.js';
import { factor } from './factor/factor.js';
import type { DataFeeKind } from './kind.js';
import { opStack } from './op-stack/op-stack.js';
import type { DataFeeKindName } from './spec.js';

/** Nothing to add: the chain takes no fee, or the estimate of the chain's bundler contains it. */
const nothing: DataFeeKind = { isFollowed: false, gas: () => 0n };

/** One row per kind. Those that are followed have a row in `adapters/data-fee/oracles.ts` too. */
export const dataFeeKinds = {
  None: nothing,
  OpStack: opStack,
  Arbitrum: arbitrum,
  Bundler: nothing,
  Factor: factor,
} as const satisfies Record<DataFeeKindName, DataFeeKind>;
