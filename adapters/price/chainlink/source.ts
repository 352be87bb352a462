import type { Decimal } from '../../../core/pricing/decimal.js';
import { checkRound, checkSequencer, toUpdatedAt } from '../../../core/pricing/feed-round.js';
import {
  faulty,
  toStaleAt,
  type PriceSource,
  type RefusedPrice,
} from '../../../core/pricing/price-source.js';
import { computePrice } from '../../../core/pricing/rate.js';
import type { PriceSpec } from '../../../core/pricing/fee-token-spec.js';
import type { EpochMs } from '../../../core/units/time.js';
import { defaultMaxAgeSeconds, type SourceDeps } from '../source-deps.js';

/** Feeds of stable coins move once a day: this is a day, plus an hour for a late transaction. */
const defaultTokenMaxAgeSeconds = 90_000;

/** A price from one or two feeds on the token's chain. Its time is that of the older answer. */
export function openChainlink(
  spec: NonNullable<PriceSpec['chainlink']>,
  { feeds, clock }: Pick<SourceDeps, 'feeds' | 'clock'>,
): PriceSource {
  const { nativeFeed, tokenFeed, sequencerFeed, inverse = false } = spec;
  const maxAge = spec.maxAgeSeconds ?? defaultMaxAgeSeconds;
  const tokenMaxAge = spec.tokenMaxAgeSeconds ?? defaultTokenMaxAgeSeconds;
  const source = `chainlink ${nativeFeed}${tokenFeed === undefined ? '' : ` and ${tokenFeed}`}`;

  return {
    async read({ chainId, decimals }) {
      const [native, token, sequencer] = await Promise.all([
        readAnswer(chainId, nativeFeed, maxAge),
        tokenFeed === undefined ? undefined : readAnswer(chainId, tokenFeed, tokenMaxAge),
        sequencerFeed === undefined ? undefined : readSequencer(chainId, sequencerFeed),
      ]);
      if (sequencer !== undefined) return sequencer;
      if (!native.ok) return native;
      if (token !== undefined && !token.ok) return token;
      if (token !== undefined && isMixed(native, token))
        return faulty(
          source,
          'MALFORMED',
          `are in different currencies: ${native.currency} and ${token.currency}`,
        );
      const isInDollars = !inverse && native.currency === 'USD';
      return computePrice(
        {
          source,
          quoted: { native: native.price, token: token?.price, inverse },
          ...(isInDollars ? { usd: native.price } : {}),
          observedAt: earlier(native.observedAt, token?.observedAt),
          staleAt: earlier(native.staleAt, token?.staleAt),
        },
        decimals,
      );
    },
  };

  /** Undefined: the sequencer is up. */
  async function readSequencer(chainId: number, feed: string): Promise<RefusedPrice | undefined> {
    const reading = await feeds.read(chainId, feed);
    return reading.ok ? checkSequencer(`chainlink ${feed}`, reading.round, clock.now()) : reading;
  }

  async function readAnswer(
    chainId: number,
    feed: string,
    maxAgeSeconds: number,
  ): Promise<FeedAnswer | RefusedPrice> {
    const reading = await feeds.read(chainId, feed);
    if (!reading.ok) return reading;
    const { round, decimals, currency } = reading;
    const name = `chainlink ${feed}`;
    const problem = checkRound(name, round, maxAgeSeconds, clock.now());
    if (problem !== undefined) return problem;
    const observedAt = toUpdatedAt(round);
    return {
      ok: true,
      price: { value: round.answer, decimals },
      currency,
      observedAt,
      staleAt: toStaleAt(observedAt, maxAgeSeconds),
    };
  }
}

type FeedAnswer = {
  readonly ok: true;
  readonly price: Decimal;
  readonly currency: string | undefined;
  readonly observedAt: EpochMs;
  readonly staleAt: EpochMs;
};

/** If both feeds name a currency, it must be the same: ETH / USD over DAI / ETH is a number, but not a price. */
function isMixed(native: FeedAnswer, token: FeedAnswer): boolean {
  return native.currency !== undefined && token.currency !== undefined && native.currency !== token.currency;
}

function earlier(one: EpochMs, other: EpochMs | undefined): EpochMs {
  return other !== undefined && other < one ? other : one;
}
