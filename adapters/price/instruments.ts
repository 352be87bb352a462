import type { Metrics } from '../../core/metrics.js';
import { isDollar } from '../../core/pricing/native-price.js';
import type { PriceAnswer, PricedToken } from '../../core/pricing/price-source.js';
import type { PriceEntry } from './price-entry.js';
import type { EpochMs } from '../../core/units/time.js';

/** Metrics of prices of fee tokens and native coins. Tokens are labelled by chain and symbol: an address is never a label. */
export function createPriceInstruments(metrics: Metrics) {
  const rate = metrics.gauge<'chain' | 'symbol'>({
    name: 'paymaster_fee_token_rate_base_units',
    help: 'Last price of a fee token: base units per native coin.',
    labels: ['chain', 'symbol'],
  });
  const age = metrics.gauge<'chain' | 'symbol'>({
    name: 'paymaster_fee_token_price_age_seconds',
    help: 'Age of that price when it was last looked at, by the time that its source gives.',
    labels: ['chain', 'symbol'],
  });
  const usable = metrics.gauge<'chain' | 'symbol' | 'source'>({
    name: 'paymaster_fee_token_price_usable',
    help: '1 while the token can be quoted, 0 while its price is refused; source is static, chainlink, http or combine.',
    labels: ['chain', 'symbol', 'source'],
  });
  const coinRate = metrics.gauge<'chain'>({
    name: 'paymaster_native_price_usd',
    help: 'Last price of a native coin in US dollars, by the nativePrice of the Chain.',
    labels: ['chain'],
  });
  const coinAge = metrics.gauge<'chain'>({
    name: 'paymaster_native_price_age_seconds',
    help: 'Age of that price when it was last looked at, by the time that its source gives.',
    labels: ['chain'],
  });
  const coinUsable = metrics.gauge<'chain' | 'source'>({
    name: 'paymaster_native_price_usable',
    help: '1 while the price of the native coin can be used, 0 while it is refused; source as for fee tokens.',
    labels: ['chain', 'source'],
  });
  const reads = metrics.counter<'source' | 'outcome'>({
    name: 'paymaster_price_reads_total',
    help: 'Reads of price sources by kind and outcome: ok, or the reason of the refusal in lower case.',
    labels: ['source', 'outcome'],
  });
  const duration = metrics.histogram<'source'>({
    name: 'paymaster_price_read_duration_seconds',
    help: 'Time of one read of a price source.',
    labels: ['source'],
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });

  return {
    read(source: string, answer: PriceAnswer, seconds: number): void {
      const outcome = answer.ok ? 'ok' : answer.refusal.reason.toLowerCase();
      reads.with({ source, outcome }).inc();
      duration.with({ source }).observe(seconds);
    },
    show({ token, answer, lastPrice }: PriceEntry, source: string, now: EpochMs): void {
      const labels = priceLabels(token);
      const isUsable = answer?.ok === true ? 1 : 0;
      const price = lastPrice?.price;
      const ageSeconds = price === undefined ? 0 : Math.max(now - price.observedAt, 0) / 1000;
      if (isDollar(token)) {
        coinUsable.with({ chain: labels.chain, source }).set(isUsable);
        if (price === undefined) return;
        coinRate.with({ chain: labels.chain }).set(Number(price.rate) / 1e18);
        coinAge.with({ chain: labels.chain }).set(ageSeconds);
        return;
      }
      usable.with({ ...labels, source }).set(isUsable);
      if (price === undefined) return;
      rate.with(labels).set(Number(price.rate));
      age.with(labels).set(ageSeconds);
    },
    forget(token: PricedToken, source: string): void {
      const labels = priceLabels(token);
      if (isDollar(token)) {
        coinUsable.remove({ chain: labels.chain, source });
        coinRate.remove({ chain: labels.chain });
        coinAge.remove({ chain: labels.chain });
        return;
      }
      usable.remove({ ...labels, source });
      rate.remove(labels);
      age.remove(labels);
    },
  };
}

function priceLabels({ chainId, symbol }: PricedToken): { readonly chain: string; readonly symbol: string } {
  return { chain: String(chainId), symbol };
}
