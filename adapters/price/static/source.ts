import { parseNumberText } from '../../../core/pricing/decimal.js';
import { priced } from '../../../core/pricing/price-source.js';
import { computePrice } from '../../../core/pricing/rate.js';
import { faulty, type PriceSource } from '../../../core/pricing/price-source.js';
import type { PriceSpec } from '../../../core/pricing/fee-token-spec.js';
import type { SourceDeps } from '../source-deps.js';

/** A price from the FeeToken itself: for dev chains, and for pairs whose rate is fixed by construction. Never stale. */
export function openStatic(
  spec: NonNullable<PriceSpec['static']>,
  { clock }: Pick<SourceDeps, 'clock'>,
): PriceSource {
  const rate = parseNumberText(spec.rate);
  const usd = spec.usdPerNative === undefined ? undefined : parseNumberText(spec.usdPerNative);
  return {
    read: async () => {
      if (rate === undefined) return faulty('static', 'MALFORMED', 'has no decimal rate');
      // A test chain may state that its coin costs nothing; a token never does.
      if (rate.value === 0n && usd?.value === 0n)
        return priced({ rate: 0n, usdPerNative: 0n, observedAt: clock.now(), source: 'static' });
      const observation = {
        source: 'static',
        quoted: { native: rate },
        ...(usd === undefined ? {} : { usd }),
        observedAt: clock.now(),
      };
      // The rate is in base units already, so no decimals of the token are applied.
      return computePrice(observation, 0);
    },
  };
}
