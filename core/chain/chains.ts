import type { Chain } from './chain.js';

/** How to connect to a chain: as in `ChainSpec.rpc`. */
export type ChainEndpoint = {
  readonly chainId: number;
  /**
   * Uses separate connections. Simulations for callers must not delay the follower's reads, and a simulation that
   * takes the node too long must not make the URL count as dead for other uses. Answers of bundlers are for callers, and smaller.
   */
  readonly lane?: 'simulations' | 'bundlers';
  /** Asks one URL alone: that with this number, modulo their number. */
  readonly only?: number;
  readonly rpc: {
    readonly urls?: readonly string[];
    readonly file?: string;
    /** Where the chain has Multicall3. */
    readonly multicall3?: string;
  };
};

/** Port: one pooled connection per chain endpoint, shared by the whole process. A changed endpoint is a new one. */
export type Chains = {
  get(endpoint: ChainEndpoint): Chain;
  stop(): Promise<void>;
};
