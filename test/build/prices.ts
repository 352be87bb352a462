import { priced, type Price, type PriceAnswer } from '../../core/pricing/price-source.js';
import type { FeeTokenSpec } from '../../core/pricing/fee-token-spec.js';
import type { EpochMs } from '../../core/units/time.js';

/** A fee token as it is served: USDC with 6 decimals and a fixed price. */
export function aServedToken(overrides: Partial<FeeTokenSpec>): FeeTokenSpec {
  return {
    chainId: 31337,
    address: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
    symbol: 'USDC',
    decimals: 6,
    price: { static: { rate: '3000000000' } },
    premiumPercentage: '10',
    logoUrl: 'https://logos.example.com/usdc.png',
    ...overrides,
  };
}

function aPrice(overrides: Partial<Price> = {}): Price {
  return { rate: 3_000_000_000n, observedAt: 1_700_000_000_000 as EpochMs, source: 'test', ...overrides };
}

export function anAnswer(overrides: Partial<Price> = {}): PriceAnswer {
  return priced(aPrice(overrides));
}
