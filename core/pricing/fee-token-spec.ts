/** What is accepted of a source; nothing bounds `static`, which a person has written. */
export type PriceBounds = {
  /** A rate that is by more below the last accepted one is refused, in whole percent, 1 to 100. Default 50. */
  readonly maxFallPercent?: number;
  /** The least rate: token base units per 10^18 wei, as whole decimal text. */
  readonly floor?: string;
  /** RFC 3339: prices that were accepted before that time no longer count; the next price is accepted. */
  readonly acceptedAt?: string;
};

/** The source of a token's price, exactly one member, with bounds. */
export type PriceSpec = PriceSourceSpec & PriceBounds;

export type PriceSourceSpec = {
  readonly static?: {
    /** Token base units per 10^18 wei, as decimal text. */
    readonly rate: string;
    /** US dollars per native coin, as decimal text. */
    readonly usdPerNative?: string;
  };
  readonly chainlink?: {
    readonly nativeFeed: string;
    /** Absent: `nativeFeed` quotes the token itself. */
    readonly tokenFeed?: string;
    /** Of the roll-up whose sequencer has to be up. */
    readonly sequencerFeed?: string;
    readonly inverse?: boolean;
    /** Default 7200. */
    readonly maxAgeSeconds?: number;
    /** For `tokenFeed`. Default 90000. */
    readonly tokenMaxAgeSeconds?: number;
  };
  readonly http?: {
    /** May contain `{chainId}`, `{address}` (lowercase) and `{symbol}`; so may the paths. */
    readonly url: string;
    /** The path of the price: tokens per native coin, or with `tokenPath` the native coin's price. */
    readonly path: string;
    /** The path of the token's price, in the currency of `path`. */
    readonly tokenPath?: string;
    readonly inverse?: boolean;
    /** The path of the native coin's price in US dollars. */
    readonly usdPath?: string;
    /** The path of the price's time. Absent: the time of the answer. */
    readonly timePath?: string;
    readonly headersFile?: string;
    /** Default 7200. */
    readonly maxAgeSeconds?: number;
  };
  readonly combine?: {
    readonly sources: readonly Omit<PriceSourceSpec, 'combine'>[];
    readonly maxAgeSeconds?: number;
    readonly maxDeviationPercent?: number;
    /** Default: 2 with `maxDeviationPercent`, else 1. */
    readonly minSources?: number;
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
