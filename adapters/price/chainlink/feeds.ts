import { AbiCoder } from 'ethers/abi';
import { CallReverted, type Chain } from '../../../core/chain/chain.js';
import { isDomainError } from '../../../core/errors.js';
import { decodeRound, type FeedRound, latestRoundDataCall } from '../../../core/pricing/feed-round.js';
import { faulty, type RefusedPrice } from '../../../core/pricing/price-source.js';
import type { Hex } from '../../../core/units/hex.js';
import { shareInFlight } from '../../share-in-flight.js';
import { decimalsCall, decodeDecimals } from '../token-facts.js';

/** The current answer of a feed. */
type FeedReading = {
  readonly ok: true;
  readonly round: FeedRound;
  readonly decimals: number;
  /**
   * The currency of the prices, from the feed's description: `USD` of "ETH / USD". Undefined when it does not say one.
   */
  readonly currency: string | undefined;
};

/** Reads price feeds; never rejects. Reads of one feed that overlap are one. */
export type Feeds = { read(chainId: number, feed: string): Promise<FeedReading | RefusedPrice> };

type FeedsDeps = {
  /** Throws DomainError when the chain is not served or its URL is not usable. */
  readonly chain: (chainId: number) => Chain;
};

const descriptionCall: Hex = '0x7284e416';
/** Feeds have 8 or 18 decimals; a contract with more than this is something else. */
const maxDecimals = 60n;

/**
 * Feeds of the AggregatorV3 interface. Decimals are read with every round, because the aggregator behind a proxy can be
 * exchanged. When they differ from the last read, the answer is refused once, because it may be from before the change.
 */
export function createFeeds({ chain }: FeedsDeps): Feeds {
  const known = new Map<string, { decimals: number; currency?: string | undefined }>();

  return {
    read: shareInFlight(
      (chainId, feed) => `${chainId} ${feed.toLowerCase()}`,
      async (key, chainId: number, feed: string) => {
        const source = `chainlink ${feed}`;
        try {
          return await readFeed(key, source, chain(chainId), feed);
        } catch (error) {
          if (error instanceof CallReverted)
            return faulty(source, 'REVERTED', 'reverted: it is paused, or no price feed');
          if (!isDomainError(error)) throw error;
          return faulty(source, 'UNREACHABLE', `could not be read: ${error.message}`);
        }
      },
    ),
  };

  async function readFeed(
    key: string,
    source: string,
    from: Chain,
    feed: string,
  ): Promise<FeedReading | RefusedPrice> {
    const [roundResult, decimalsResult, currency] = await Promise.all([
      from.call({ to: feed, data: latestRoundDataCall }),
      from.call({ to: feed, data: decimalsCall }),
      known.get(key)?.currency ?? readCurrency(from, feed),
    ]);
    const round = decodeRound(roundResult);
    const decimals = decodeDecimals(decimalsResult, maxDecimals);
    if (round === undefined || decimals === undefined)
      return faulty(source, 'MALFORMED', 'does not answer as a price feed');
    const before = known.get(key)?.decimals;
    known.set(key, { decimals, currency });
    if (before !== undefined && before !== decimals)
      return faulty(
        source,
        'MALFORMED',
        `changed its decimals from ${before} to ${decimals}; the next read is judged by the new ones`,
      );
    return { ok: true, round, decimals, currency };
  }
}

/** Only needed for the dollar amounts of a quote: a feed without a description works equally well. */
async function readCurrency(chain: Chain, feed: string): Promise<string | undefined> {
  try {
    const result = await chain.call({ to: feed, data: descriptionCall });
    const [description]: unknown[] = AbiCoder.defaultAbiCoder().decode(['string'], result).toArray();
    return typeof description === 'string' ? description.split('/')[1]?.trim() : undefined;
  } catch {
    return undefined;
  }
}
