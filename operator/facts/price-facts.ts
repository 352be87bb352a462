import { given } from '../../core/units/given.js';
import type { Ambient } from '../../core/ambient.js';
import { createPrices } from '../../adapters/price/prices.js';
import type { Chains } from '../../core/chain/chain.js';
import type { ChainConfig } from '../../core/config/chain-config.js';
import { noMetrics } from '../../core/metrics.js';
import { priceSubject } from '../../core/reports/serving-reports.js';
import { refused, type PriceAnswer } from '../../core/pricing/price-source.js';
import type { ServingFacts } from './reported-facts.js';
import type { FeeTokenSpec } from '../../core/pricing/fee-token-spec.js';
import { toDollarSpec } from '../../core/pricing/native-price.js';
import type { Timers } from '../../adapters/timers.js';

/**
 * Whether fee tokens and native coins have prices, as far as this process can tell: the rpc role quotes by its own reads of the sources.
 */
export type PriceFacts = ReturnType<typeof createPriceFacts>;

type PricedChain = Pick<ChainConfig, 'chainId' | 'rpc' | 'feeTokens' | 'nativePrice'>;

type PriceFactsDeps = Pick<Ambient, 'clock' | 'log'> & {
  readonly chains: Pick<Chains, 'get'>;
  /** Directory of the header files that HTTP sources name. */
  readonly headersDirectory: string | undefined;
  readonly timers: Timers;
  /** Called when a price of the chain became usable or unusable, or is unusable for another reason. */
  readonly onChange: (chainId: number) => void;
};

/** With what servers report: they compare with the price that was accepted last, which this process may not have seen. */
export function withReportedJumps(
  prices: Pick<PriceFacts, 'answer'>,
  serving: Pick<ServingFacts, 'of'> | undefined,
): Pick<PriceFacts, 'answer'> {
  return {
    answer(token) {
      const answer = prices.answer(token);
      if (serving?.of(priceSubject(token.chainId, token.address)) !== 'PriceJump') return answer;
      const source = answer?.ok === true ? answer.price.source : 'the source';
      return refused({ source, reason: 'JUMP', rate: 0n, least: 0n });
    },
  };
}

/** Conditions need no fresh figures, so the sources get a third of the requests that quotes would cause. */
const refreshMs = 30_000;

export function createPriceFacts(deps: PriceFactsDeps) {
  const { headersDirectory, onChange, ...ambient } = deps;
  const asked = new Map<number, PricedChain>();
  const prices = createPrices({
    ...ambient,
    chainConfigs: () => asked.values(),
    // Rates and ages are metrics of the rpc role; with a second set nobody would know which one counts.
    metrics: noMetrics,
    timing: { refreshMs, cacheMs: refreshMs },
    onChange: ({ chainId }) => onChange(chainId),
    ...given({ headersDirectory }),
  });

  return {
    /** Replaces the prices that are checked on a chain; new ones are asked for at once. */
    setChain({ chainId, rpc, feeTokens, nativePrice }: PricedChain): void {
      asked.set(chainId, { chainId, rpc, feeTokens, ...given({ nativePrice }) });
      prices.start();
      const native = nativePrice === undefined ? [] : [toDollarSpec(chainId, nativePrice)];
      for (const token of [...feeTokens, ...native])
        // It never rejects, and `stop` waits for it.
        if (prices.last(token) === undefined) void prices.get(token);
    },
    removeChain: (chainId: number): void => void asked.delete(chainId),
    /** The last answer; undefined until the token was asked about. */
    answer: (token: FeeTokenSpec): PriceAnswer | undefined => prices.last(token),
    /** Resolves when no read is running; may be called twice. */
    stop: (): Promise<void> => prices.stop(),
  };
}
