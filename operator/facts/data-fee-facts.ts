import type { Ambient } from '../../core/ambient.js';
import { createDataFees, type DataFeeFault, type FollowedChain } from '../../adapters/data-fee/data-fees.js';
import type { Chains } from '../../core/chain/chains.js';
import { dataFeeKinds } from '../../core/chain/data-fee/kinds.js';
import { noMetrics } from '../../core/metrics.js';
import type { Timers } from '../../adapters/timers.js';

/**
 * Whether the data fees of chains can be read, as far as this process can tell: the rpc role follows them by itself.
 */
export type DataFeeFacts = {
  /** Replaces what is known about how to read the chain's data fee. */
  setChain(chain: FollowedChain): void;
  removeChain(chainId: number): void;
  level(chainId: number): DataFeeLevel;
  /** Resolves when nothing is read; may be called twice. */
  stop(): Promise<void>;
};

/** `none`: the chain's kind of data fee is not read from the chain. */
export type DataFeeLevel = 'none' | 'unknown' | 'usable' | DataFeeFault;

export type DataFeeFactsDeps = Pick<Ambient, 'clock' | 'log'> & {
  readonly chains: Pick<Chains, 'get'>;
  readonly timers: Timers;
  /** Called when the data fee of the chain can or cannot be read any longer. */
  readonly onChange: (chainId: number) => void;
};

/** A condition needs no fresh figures. */
const refreshMs = 30_000;

export function createDataFeeFacts(deps: DataFeeFactsDeps): DataFeeFacts {
  const asked = new Map<number, FollowedChain>();
  const dataFees = createDataFees({
    ...deps,
    chainConfigs: () => asked.values(),
    // Prices and ages are metrics of the rpc role; with a second set nobody would know which one counts.
    metrics: noMetrics,
    refreshMs,
  });

  return {
    setChain({ chainId, rpc, dataFee }) {
      asked.set(chainId, { chainId, rpc, ...(dataFee === undefined ? {} : { dataFee }) });
      if (isFollowed(asked.get(chainId))) dataFees.start();
    },
    removeChain: (chainId) => void asked.delete(chainId),
    level(chainId) {
      if (!isFollowed(asked.get(chainId))) return 'none';
      return dataFees.fault(chainId) ?? (dataFees.get(chainId) === undefined ? 'unknown' : 'usable');
    },
    stop: () => dataFees.stop(),
  };
}

function isFollowed(chain: FollowedChain | undefined): boolean {
  return chain?.dataFee !== undefined && dataFeeKinds[chain.dataFee.kind].isFollowed;
}
