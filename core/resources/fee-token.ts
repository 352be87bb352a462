import type { Condition, Resource } from './meta.js';

/** Where a token's price comes from: exactly one member. Rates are token base units per 10^18 wei, as decimal text. */
export type PriceSpec = {
  readonly static?: { readonly rate: string };
  readonly chainlink?: {
    readonly nativeFeed: string;
    /** Absent: `nativeFeed` quotes the token itself. */
    readonly tokenFeed?: string;
    readonly inverse?: boolean;
    readonly maxAgeSeconds?: number;
  };
  readonly http?: {
    readonly url: string;
    readonly path: string;
    readonly headersFile?: string;
    readonly maxAgeSeconds?: number;
  };
  readonly combine?: {
    readonly sources: readonly Omit<PriceSpec, 'combine'>[];
    readonly maxAgeSeconds?: number;
    readonly maxDeviationPercent?: number;
  };
};

export type FeeTokenSpec = {
  readonly chainId: number;
  readonly address: string;
  readonly symbol: string;
  readonly decimals: number;
  readonly price: PriceSpec;
  /** Percent text 0 to 100, e.g. "12" or "7.5". Default "0". */
  readonly premiumPercentage?: string;
  readonly logoUrl?: string;
};

export type FeeTokenStatus = {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
};

export type FeeToken = Resource<'FeeToken', FeeTokenSpec, FeeTokenStatus>;
