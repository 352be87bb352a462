import { parseEther } from '../units/wei.js';
import { zeroAddress } from '../units/address.js';
import { given } from '../units/given.js';
import type { FeeTokenSpec, PriceBounds, PriceSourceSpec, PriceSpec } from './fee-token-spec.js';
import { faulty, type PriceAnswer } from './price-source.js';

type OneSource = {
  readonly static?: { readonly usdPerNative: string };
  readonly chainlink?: {
    readonly nativeFeed: string;
    readonly sequencerFeed?: string;
    readonly maxAgeSeconds?: number;
  };
  readonly http?: {
    readonly url: string;
    readonly path: string;
    readonly timePath?: string;
    readonly headersFile?: string;
    readonly maxAgeSeconds?: number;
  };
};

/** The source of the coin's price in US dollars, exactly one member, with bounds; `floor` is in dollars. */
export type NativePriceSpec = OneSource &
  PriceBounds & {
    readonly combine?: Omit<NonNullable<PriceSourceSpec['combine']>, 'sources'> & {
      readonly sources: readonly OneSource[];
    };
  };

/** The same source and bounds for a token of 18 decimals that is a dollar. */
export function inDollars({ maxFallPercent, floor, acceptedAt, ...source }: NativePriceSpec): PriceSpec {
  const least = floor === undefined ? undefined : String(parseEther(floor));
  return { ...sourceInDollars(source), ...given({ maxFallPercent, floor: least, acceptedAt }) };
}

function sourceInDollars({
  static: fixed,
  chainlink,
  http,
  combine,
}: Omit<NativePriceSpec, keyof PriceBounds>): PriceSourceSpec {
  if (fixed !== undefined) return { static: { ...fixed, rate: String(parseEther(fixed.usdPerNative)) } };
  if (chainlink !== undefined) return { chainlink };
  if (http !== undefined) return { http: { ...http, usdPath: http.path } };
  return combine === undefined
    ? {}
    : { combine: { ...combine, sources: combine.sources.map(sourceInDollars) } };
}

/** The coin's price in dollars as that of a token; nothing is deployed at its address. */
export function dollarOf(chainId: number, price: PriceSpec): FeeTokenSpec {
  return { chainId, address: zeroAddress, symbol: 'USD', decimals: 18, price };
}

export function isDollar({ address }: Pick<FeeTokenSpec, 'address'>): boolean {
  return address === zeroAddress;
}

/** A feed says in its description which currency it quotes, and no other currency counts as dollars. */
export function requireDollars(answer: PriceAnswer): PriceAnswer {
  if (!answer.ok || answer.price.usdPerNative !== undefined) return answer;
  return faulty(
    answer.price.source,
    'MALFORMED',
    'does not say that it quotes US dollars: its description() must end in "/ USD"',
  );
}
