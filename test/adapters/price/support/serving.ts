import { createPrices, type KeptPrices, type PricesDeps } from '../../../../adapters/price/prices.js';
import type { Chains } from '../../../../core/chain/chain.js';
import { silentLogger } from '../../../../core/log.js';
import { noMetrics } from '../../../../core/metrics.js';
import type { FeeTokenSpec, PriceSpec } from '../../../../core/pricing/fee-token-spec.js';
import type { EpochMs } from '../../../../core/units/time.js';

/** Prices over one chain, with a clock and timers that only the test moves. */
export type Serving = {
  readonly prices: KeptPrices;
  readonly changes: FeeTokenSpec[];
  /** What is served from now on. */
  serve(...tokens: readonly FeeTokenSpec[]): void;
  /** The source of the coin's price in dollars from now on. */
  serveDollars(price: PriceSpec | undefined): void;
  /** Moves the clock, and runs the work that became due. */
  advance(ms: number): void;
};

export function startServing(
  options: { readonly url: string; readonly chains: Chains; readonly chainId: number } & Partial<
    Pick<PricesDeps, 'metrics' | 'headersDirectory' | 'timing' | 'log'>
  >,
): Serving {
  const { url, chainId, chains, metrics = noMetrics, log = silentLogger, headersDirectory, timing } = options;
  let feeTokens: readonly FeeTokenSpec[] = [];
  let nativePrice: PriceSpec | undefined;
  let now = Date.now();
  let due: { readonly at: number; readonly action: () => void }[] = [];
  const changes: FeeTokenSpec[] = [];
  const prices = createPrices({
    chains,
    chainConfigs: () => [
      { chainId, rpc: { urls: [url] }, feeTokens, ...(nativePrice === undefined ? {} : { nativePrice }) },
    ],
    clock: { now: () => now as EpochMs },
    log,
    metrics,
    ...(headersDirectory === undefined ? {} : { headersDirectory }),
    ...(timing === undefined ? {} : { timing }),
    onChange: (token) => changes.push(token),
    timers: {
      after(ms, action) {
        const timer = { at: now + ms, action };
        due.push(timer);
        return () => {
          due = due.filter((each) => each !== timer);
        };
      },
    },
  });
  return {
    prices,
    changes,
    serve: (...tokens) => {
      feeTokens = tokens;
    },
    serveDollars: (price) => {
      nativePrice = price;
    },
    advance(ms) {
      const end = now + ms;
      for (;;) {
        const next = due.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
        if (next === undefined) break;
        due = due.filter((each) => each !== next);
        now = next.at;
        next.action();
      }
      now = end;
    },
  };
}
