import { compileChain, type LayoutFacts } from '../../core/config/compile-chain.js';
import type { ChainConfig } from '../../core/config/chain-config.js';
import type { Chain } from '../../core/resources/chain.js';
import type { Cache } from '../cache.js';
import { inOrder } from './chain.js';

/**
 * The chains compiled from their present resources, so that no paymaster has to wait for a ChainConfig to be stored
 * first.
 */
export type OfferedChains = ReturnType<typeof createOfferedChains>;

/** Compiles each version of a Chain once, however many paymasters name it. */
export function createOfferedChains(deps: {
  readonly cache: Pick<Cache, 'all' | 'chainsWith'>;
  readonly layouts: LayoutFacts;
}) {
  const compiled = new WeakMap<Chain, ChainConfig>();
  return {
    get(chainId: number): ChainConfig | undefined {
      const [chain] = inOrder(deps.cache.chainsWith(chainId));
      if (chain === undefined) return undefined;
      const known = compiled.get(chain);
      if (known !== undefined) return known;
      const { config } = compileChain({
        chain,
        feeTokens: [],
        layouts: deps.layouts,
        previous: undefined,
        checksums: 'left',
      });
      compiled.set(chain, config);
      return config;
    },
    ids: (): readonly number[] =>
      [...new Set(deps.cache.all('Chain').map(({ spec }) => spec.chainId))].sort((a, b) => a - b),
  };
}
