import { finding, type Finding } from '../meta/conditions.js';
import type { FeeTokenSpec, PriceSpec } from '../pricing/fee-token-spec.js';
import type { FeeToken } from '../resources/fee-token.js';
import { isAddressText, parseAddress } from '../units/address.js';
import type { ChainConfig } from './chain-config.js';
import { checksumFinding, worstOf } from './checksum.js';
import { compareAge, conflicts, rank } from './ranking.js';

export type CompiledFeeToken = {
  readonly object: FeeToken;
  readonly accepted: Finding;
  /** Set when an address with a wrong checksum stays in use. */
  readonly checksum?: Finding;
};

/** Judges each token; of several with one address the oldest is served. */
export function compileFeeTokens(
  feeTokens: readonly FeeToken[],
  previous: ChainConfig | undefined,
): readonly CompiledFeeToken[] {
  const served = new Map((previous?.feeTokens ?? []).map((token) => [token.address.toLowerCase(), token]));
  const losers = conflicts(
    rank(feeTokens, () => false),
    ({ spec }) => spec.address.toLowerCase(),
  );
  return [...feeTokens].sort(compareAge).map((object) => {
    const holder = losers.get(object);
    if (!isAddressText(object.spec.address))
      return {
        object,
        accepted: finding('Accepted', 'Invalid', 'spec.address must be 0x and 40 hex digits.'),
      };
    const checksum = checksumOfToken(object.spec, served.get(object.spec.address.toLowerCase()));
    if (checksum?.type === 'Accepted') return { object, accepted: checksum };
    if (holder === undefined)
      return {
        object,
        accepted: finding('Accepted', 'Accepted'),
        ...(checksum === undefined ? {} : { checksum }),
      };
    const message = `FeeToken ${holder.metadata.name} has the address ${object.spec.address}: delete one.`;
    return { object, accepted: finding('Accepted', 'NameConflict', message) };
  });
}

/** Those that are accepted, as they are served. */
export function servedTokens(tokens: readonly CompiledFeeToken[]): readonly FeeTokenSpec[] {
  return tokens.flatMap(({ accepted, object: { spec } }) =>
    accepted.status === 'True' ? [{ ...spec, address: parseAddress(spec.address) }] : [],
  );
}

/** Judges the checksums of the token and its price feeds; an address that is already served stays. */
function checksumOfToken(
  { address, price }: FeeTokenSpec,
  served: FeeTokenSpec | undefined,
): Finding | undefined {
  return worstOf([
    checksumFinding('spec.address', address, served !== undefined),
    checksumOfFeeds('spec.price', price, served?.price),
  ]);
}

/** Of the price feeds of a source at `field`; one that is already served stays. */
export function checksumOfFeeds(
  field: string,
  price: PriceSpec,
  served: PriceSpec | undefined,
): Finding | undefined {
  const inUse = new Set(served && listFeeds(served, field).map(([, feed]) => feed.toLowerCase()));
  return worstOf(
    listFeeds(price, field).map(([name, feed]) => checksumFinding(name, feed, inUse.has(feed.toLowerCase()))),
  );
}

/** The price feeds of a source, each with its field path. */
function listFeeds({ chainlink, combine }: PriceSpec, field: string): readonly (readonly [string, string])[] {
  const own = [
    [`${field}.chainlink.nativeFeed`, chainlink?.nativeFeed],
    [`${field}.chainlink.tokenFeed`, chainlink?.tokenFeed],
    [`${field}.chainlink.sequencerFeed`, chainlink?.sequencerFeed],
  ] as const;
  const combined = (combine?.sources ?? []).flatMap((source, index) =>
    listFeeds(source, `${field}.combine.sources[${index}]`),
  );
  return [...own.flatMap(([name, feed]) => (feed === undefined ? [] : [[name, feed] as const])), ...combined];
}
