import type { ChainConfig, ProfileConfig } from '../../core/config/chain-config.js';
import type { Price } from '../../core/pricing/price-source.js';
import type { FeeTokenSpec } from '../../core/pricing/fee-token-spec.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { parseAddress } from '../../core/units/address.js';
import { addressOf, aProfileConfig, someChainId, someNow, someVersions } from './configs.js';

/** Versions of the example chain whose layout has a token mode. */
export const tokenVersions = someVersions.filter(
  (version) => layouts[aProfileConfig(version).layout].token !== undefined,
);

/** The account whose balance in the contract pays in token mode. */
export const someTokenAccount = parseAddress(`0x${'7e'.repeat(20)}`);
export const someTreasury = parseAddress(`0x${'77'.repeat(20)}`);

export function aFeeToken(overrides: Partial<FeeTokenSpec> = {}): FeeTokenSpec {
  return {
    chainId: someChainId,
    address: addressOf(0xfee1),
    symbol: 'USDX',
    decimals: 6,
    price: { static: { rate: '3000000000', usdPerNative: '3000' } },
    premiumPercentage: '10',
    logoUrl: 'https://example.com/usdx.svg',
    ...overrides,
  };
}

/** 3,000 tokens of 6 decimals, and as many dollars, per native coin. */
export function aPrice(overrides: Partial<Price> = {}): Price {
  return {
    rate: 3_000_000_000n,
    usdPerNative: 3_000n * 10n ** 18n,
    observedAt: someNow,
    source: 'static',
    ...overrides,
  };
}

export const usdx = aFeeToken();
export const eurx = aFeeToken({
  address: addressOf(0xfee2),
  symbol: 'EURX',
  decimals: 18,
  premiumPercentage: '0',
});
export const oldx = aFeeToken({ address: addressOf(0xfee3), symbol: 'OLDX' });

/** The example chain with a token contract for each version that can have one, and three fee tokens. */
export function aTokenChain(): Partial<ChainConfig> {
  return { profiles: someVersions.map(aTokenProfile), feeTokens: [usdx, eurx, oldx] };
}

export function aTokenProfile(version: string): ProfileConfig {
  const profile = aProfileConfig(version);
  if (!tokenVersions.includes(version)) return profile;
  const token = addressOf(0xd000 + someVersions.indexOf(version));
  return { ...profile, token, options: { ...profile.options, treasury: someTreasury } };
}
