import type { Ambient } from '../../core/ambient.js';
import { createDataFees, type DataFeeFault, type FollowedChain } from '../../adapters/data-fee/data-fees.js';
import type { Chains } from '../../core/chain/chain.js';
import { dataFeeKinds } from '../../core/chain/data-fee/kinds.js';
import { noMetrics } from '../../core/metrics.js';
import type { Timers } from '../../adapters/timers.js';

/**
 * Whether the data fees of chains can be read, as far as this process can tell: the rpc role follows them by itself.
 */
export type DataFeeFacts = ReturnType<typeof createDataFeeFacts>;

/** `none`: the chain's kind of data fee is not read from the chain. */
export type DataFeeLevel = 'none' | 'unknown' | 'usable' | DataFeeFault;

type DataFeeFactsDeps = Pick<Ambient, 'clock' | 'log'> & {
  readonly chains: Pick<Chains, 'get'>;
  readonly timers: Timers;
  /** Called when the data fee of the chain can or cannot be read any longer. */
  readonly onChange: (chainId: number) => void;
};

/** A condition needs no fresh figures. */
const refreshMs = 30_000;

export function createDataFeeFacts(deps: DataFeeFactsDeps) {
  const asked = new Map<number, FollowedChain>();
  const dataFees = createDataFees({
    ...deps,
    chainConfigs: () => asked.values(),
    // Prices and ages are metrics of the rpc role; with a second set nobody would know which one counts.
    metrics: noMetrics,
    refreshMs,
  });

  return {
    /** Replaces what is known about how to read the chain's data fee. */
    setChain({ chainId, rpc, dataFee }: FollowedChain): void {
      asked.set(chainId, { chainId, rpc, ...(dataFee === undefined ? {} : { dataFee }) });
      if (isFollowed(asked.get(chainId))) dataFees.start();
    },
    removeChain: (chainId: number): void => void asked.delete(chainId),
    level(chainId: number): DataFeeLevel {
      if (!isFollowed(asked.get(chainId))) return 'none';
      return dataFees.fault(chainId) ?? (dataFees.get(chainId) === undefined ? 'unknown' : 'usable');
    },
    /** Resolves when nothing is read; may be called twice. */
    stop: (): Promise<void> => dataFees.stop(),
  };
}

function isFollowed(chain: FollowedChain | undefined): boolean {
  return chain?.dataFee !== undefined && dataFeeKinds[chain.dataFee.kind].isFollowed;
}
