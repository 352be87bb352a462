import type { PriceSource } from '../../../core/pricing/price-source.js';
import type { PriceSpec } from '../../../core/pricing/fee-token-spec.js';
import { systemClock } from '../../../core/units/time.js';
import {
  priceSourceConformance,
  type PriceSourceSubject,
  type SourceFault,
} from '../../conformance/price-source.js';
import { startFeedChain, type FeedChain, type FeedContract } from './support/feed-chain.js';
import { inverse, scaled, sourceOpener } from './support/open-sources.js';

// Real feed contracts on a real node: the contract's answer produces each fault.

type FeedSubject = PriceSourceSubject & {
  readonly chain: FeedChain;
  readonly native: FeedContract;
  readonly token: FeedContract;
  readonly open: (spec: PriceSpec) => PriceSource;
};

async function startFeeds(): Promise<Omit<FeedSubject, 'quote'>> {
  const chain = await startFeedChain();
  const { open, documents } = sourceOpener({ chain });
  return {
    chain,
    native: await chain.feed({ description: 'ETH / USD', decimals: 18, answer: 1n }),
    token: await chain.feed({ description: 'USDC / USD', decimals: 8, answer: 10n ** 8n }),
    open,
    async stop() {
      await documents.stop();
      await chain.stop();
    },
  };
}

/** Repairs the feed, and updates its answer to now. */
async function heal(feed: FeedContract, answer: bigint, decimals: number): Promise<void> {
  await feed.call('setPaused', [false]);
  await feed.call('setDecimals', [decimals]);
  await feed.call('set', [answer]);
}

/** Feeds that are wrong, each from a feed that was right before. */
const feedFaults: readonly SourceFault<FeedSubject>[] = [
  {
    name: 'the feed is older than the limit',
    reason: 'STALE',
    says: /^chainlink 0x\w{40} is 36\d\d s old, at most 3600 s are accepted$/,
    arrange: async (subject) => {
      const updatedAt = BigInt(Math.floor(systemClock.now() / 1000) - 3_610);
      await subject.native.call('setRound', [9n, 10n ** 18n, updatedAt, 9n]);
      return subject.open({ chainlink: { nativeFeed: subject.native.address, maxAgeSeconds: 3_600 } });
    },
  },
  {
    name: 'the feed reverts',
    reason: 'REVERTED',
    says: /^chainlink 0x\w{40} reverted/,
    arrange: async (subject) => {
      await subject.native.call('setPaused', [true]);
      return subject.open({ chainlink: { nativeFeed: subject.native.address } });
    },
  },
  {
    name: 'the price is negative',
    reason: 'OUT_OF_RANGE',
    says: /answers -5, which is not a price above zero/,
    arrange: async (subject) => {
      await heal(subject.native, -5n, 18);
      return subject.open({ chainlink: { nativeFeed: subject.native.address } });
    },
  },
  {
    name: 'the largest price that a feed can answer',
    reason: 'OUT_OF_RANGE',
    says: /answers a rate of more than/,
    arrange: async (subject) => {
      await heal(subject.native, 2n ** 255n - 1n, 18);
      return subject.open({ chainlink: { nativeFeed: subject.native.address } });
    },
  },
  {
    name: 'the round has no answer yet',
    reason: 'INCOMPLETE',
    says: /has no answer yet in round 12/,
    arrange: async (subject) => {
      await subject.native.call('setRound', [12n, 10n ** 18n, 0n, 12n]);
      return subject.open({ chainlink: { nativeFeed: subject.native.address } });
    },
  },
  {
    name: 'the round repeats an older answer',
    reason: 'INCOMPLETE',
    says: /repeats the answer of round 11 in round 12/,
    arrange: async (subject) => {
      await subject.native.call('setRound', [12n, 10n ** 18n, BigInt(await subject.chain.time()), 11n]);
      return subject.open({ chainlink: { nativeFeed: subject.native.address } });
    },
  },
  {
    name: "the feed's decimals changed between two reads",
    reason: 'MALFORMED',
    says: /changed its decimals from 18 to 8/,
    arrange: async (subject) => {
      await heal(subject.native, 10n ** 18n, 18);
      const source = subject.open({ chainlink: { nativeFeed: subject.native.address } });
      const token = {
        chainId: subject.chain.chainId,
        address: subject.token.address,
        symbol: 'USDC',
        decimals: 6,
      };
      // The first read may itself see other decimals than an earlier test left.
      await source.read(token);
      await source.read(token);
      await subject.native.call('setDecimals', [8]);
      return source;
    },
  },
  {
    name: 'the address is not a feed',
    reason: 'MALFORMED',
    says: /does not answer as a price feed/,
    arrange: async ({ open }) =>
      open({ chainlink: { nativeFeed: '0x00000000000000000000000000000000000000Ee' } }),
  },
];

/** Only feeds in pairs can be wrong so. */
const pairFaults: readonly SourceFault<FeedSubject>[] = [
  {
    name: "the token's feed is stale while the other one is not",
    reason: 'STALE',
    says: /at most 60 s are accepted/,
    arrange: async (subject) => {
      await heal(subject.native, 10n ** 18n, 18);
      await subject.open({ chainlink: { nativeFeed: subject.native.address } }).read(anyToken);
      await subject.token.call('setRound', [
        5n,
        10n ** 8n,
        BigInt(Math.floor(systemClock.now() / 1000) - 61),
        5n,
      ]);
      return subject.open({
        chainlink: {
          nativeFeed: subject.native.address,
          tokenFeed: subject.token.address,
          tokenMaxAgeSeconds: 60,
        },
      });
    },
  },
  {
    name: 'the two feeds are in different currencies',
    reason: 'MALFORMED',
    says: /are in different currencies: USD and EUR/,
    arrange: async (subject) => {
      await heal(subject.native, 10n ** 18n, 18);
      await subject.open({ chainlink: { nativeFeed: subject.native.address } }).read(anyToken);
      const euros = await subject.chain.feed({ description: 'USDC / EUR', answer: 10n ** 8n });
      return subject.open({ chainlink: { nativeFeed: subject.native.address, tokenFeed: euros.address } });
    },
  },
];

const anyToken = {
  chainId: 31337,
  address: '0x0000000000000000000000000000000000000001',
  symbol: 'T',
  decimals: 6,
};

priceSourceConformance<FeedSubject>(
  'chainlink, a feed of the token',
  async () => {
    const feeds = await startFeeds();
    return {
      ...feeds,
      async quote(text) {
        await heal(feeds.native, scaled(text, 18), 18);
        return feeds.open({ chainlink: { nativeFeed: feeds.native.address } });
      },
    };
  },
  feedFaults,
);

priceSourceConformance<FeedSubject>(
  'chainlink, the inverse of a feed',
  async () => {
    const feeds = await startFeeds();
    return {
      ...feeds,
      async quote(text) {
        await heal(feeds.native, inverse(text, 18), 18);
        return feeds.open({ chainlink: { nativeFeed: feeds.native.address, inverse: true } });
      },
    };
  },
  [
    {
      name: 'the feed answers zero, which has no inverse',
      reason: 'OUT_OF_RANGE',
      says: /answers 0, which is not a price above zero/,
      arrange: async (subject) => {
        await heal(subject.native, 0n, 18);
        return subject.open({ chainlink: { nativeFeed: subject.native.address, inverse: true } });
      },
    },
  ],
);

priceSourceConformance<FeedSubject>(
  'chainlink, two feeds in one currency',
  async () => {
    const feeds = await startFeeds();
    return {
      ...feeds,
      async quote(text) {
        // Two dollars per token, so that the native coin costs twice the number.
        await heal(feeds.native, 2n * scaled(text, 18), 18);
        await heal(feeds.token, 200_000_000n, 8);
        return feeds.open({
          chainlink: { nativeFeed: feeds.native.address, tokenFeed: feeds.token.address },
        });
      },
    };
  },
  pairFaults,
);
