import type { Chain } from './chain.js';

/** How to reach a chain: as in `ChainSpec.rpc`. */
export type ChainEndpoint = {
  readonly chainId: number;
  /**
   * Connections of their own: what callers have simulated must neither queue in front of the follower's reads nor, when the node
   * takes too long for it, make a URL seem dead to others.
   */
  readonly lane?: 'simulations';
  readonly rpc: { readonly urls?: readonly string[]; readonly file?: string };
};

/** Port: one pooled connection per chain endpoint, shared by everyone in the process; a changed endpoint is a new one. */
export type Chains = {
  get(endpoint: ChainEndpoint): Chain;
  stop(): Promise<void>;
};
