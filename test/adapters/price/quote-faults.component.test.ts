import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { FeeTokenSpec } from '../../../core/pricing/fee-token-spec.js';
import type { Address } from '../../../core/units/address.js';
import { aFeeToken, aTokenChain } from '../../build/fee-tokens.js';
import { anOperation } from '../../build/operations.js';
import { startRpc, type RpcHost } from '../../build/rpc.js';
import { startFeedChain, type FeedChain, type FeedContract } from './support/feed-chain.js';
import { startJsonHost, type JsonHost } from './support/json-host.js';
import { startServing, type Serving } from './support/serving.js';

// The server with real price sources: a feed, a host and both compared. With any fault of a source, a token is
// quoted at the right price or not at all, and the answer gives the reason; other tokens are not affected.

let chain: FeedChain;
let feed: FeedContract;
let prices: JsonHost;
let serving: Serving;
let rpc: RpcHost;
let byFeed: FeeTokenSpec;
let byHost: FeeTokenSpec;
let byBoth: FeeTokenSpec;

beforeAll(async () => {
  [chain, prices] = await Promise.all([startFeedChain(), startJsonHost()]);
  feed = await chain.feed({ answer: 300_000_000_000n });
  const chainlink = { nativeFeed: feed.address, maxAgeSeconds: 3_600 };
  const http = { url: `${prices.origin}/price`, path: 'rate' };
  byFeed = await aToken('FEED', { chainlink });
  byHost = await aToken('HOST', { http });
  byBoth = await aToken('BOTH', { combine: { sources: [{ http }, { chainlink }], maxDeviationPercent: 1 } });
  serving = startServing(chain);
  rpc = await startRpc({
    chain: { ...aTokenChain(), feeTokens: [byFeed, byHost, byBoth] },
    prices: serving.prices,
  });
});
afterAll(async () => {
  await rpc.stop();
  await serving.prices.stop();
  await Promise.all([chain.stop(), prices.stop()]);
});

async function aToken(symbol: string, price: FeeTokenSpec['price']): Promise<FeeTokenSpec> {
  const address: Address = await chain.token({ symbol, decimals: 6 });
  return aFeeToken({ chainId: chain.chainId, address, symbol, price });
}

/** Everything is right, and was right for long enough that no earlier answer is used. */
beforeEach(async () => {
  prices.say('{"rate":3000}');
  await feed.call('setPaused', [false]);
  await feed.call('setDecimals', [8]);
  await feed.call('set', [300_000_000_000n]);
  await serving.prices.get(byFeed);
  serving.advance(60_000);
});

type Quote = { readonly symbol: string; readonly exchangeRate: number };

async function quote(): Promise<{
  readonly rates: Record<string, number>;
  readonly refused: Record<string, string>;
}> {
  const { body } = await rpc.call('pm_getFeeQuoteOrData', [anOperation(), { mode: 'ERC20', tokenInfo: {} }]);
  const {
    feeQuotes = [],
    unsupportedTokens = [],
    unsupportedReasons = {},
  } = body.result as {
    readonly feeQuotes?: readonly Quote[];
    readonly unsupportedTokens?: readonly string[];
    readonly unsupportedReasons?: Record<string, string>;
  };
  expect(Object.keys(unsupportedReasons)).toEqual(unsupportedTokens);
  return {
    rates: Object.fromEntries(feeQuotes.map(({ symbol, exchangeRate }) => [symbol, exchangeRate])),
    refused: Object.fromEntries(
      Object.entries(unsupportedReasons).map(([address, why]) => [symbolOf(address), why]),
    ),
  };
}

function symbolOf(address: string): string {
  return [byFeed, byHost, byBoth].find((token) => token.address === address)?.symbol ?? address;
}

test('with every source right all tokens are quoted', async () => {
  expect(await quote()).toEqual({
    rates: { FEED: 3_000_000_000, HOST: 3_000_000_000, BOTH: 3_000_000_000 },
    refused: {},
  });
});

type Fault = {
  readonly name: string;
  readonly arrange: () => Promise<void> | void;
  readonly quoted: Record<string, number>;
  readonly refused: Record<string, RegExp>;
};

const unusable = /its source gives no price that may be used/;

describe('a quote is refused with the reason, never wrong', () => {
  test.each<Fault>([
    {
      name: 'the feed is stale',
      arrange: async () => feed.call('setRound', [50n, 300_000_000_000n, BigInt(await longAgo()), 50n]),
      quoted: { HOST: 3_000_000_000 },
      refused: {
        FEED: /its price is \d+ s old, at most 3600 s are accepted/,
        BOTH: /it has 1 usable sources and needs 2/,
      },
    },
    {
      name: 'the feed reverts',
      arrange: () => feed.call('setPaused', [true]),
      quoted: { HOST: 3_000_000_000 },
      refused: { FEED: unusable, BOTH: /needs 2/ },
    },
    {
      name: 'the feed answers a negative price',
      arrange: () => feed.call('set', [-300_000_000_000n]),
      quoted: { HOST: 3_000_000_000 },
      refused: { FEED: unusable, BOTH: /needs 2/ },
    },
    {
      name: "the feed's decimals change",
      arrange: () => feed.call('setDecimals', [18]),
      quoted: { HOST: 3_000_000_000 },
      refused: { FEED: unusable, BOTH: /needs 2/ },
    },
    {
      name: 'the host is slow',
      arrange: () => prices.answer(() => {}),
      quoted: { FEED: 3_000_000_000 },
      refused: { HOST: /its source does not answer/, BOTH: /its source does not answer/ },
    },
    {
      name: 'the host answers garbage',
      arrange: () => prices.say('<html>maintenance</html>'),
      quoted: { FEED: 3_000_000_000 },
      refused: { HOST: unusable, BOTH: /needs 2/ },
    },
    {
      name: 'the host answers a huge number',
      arrange: () => prices.say('{"rate":3e77}'),
      quoted: { FEED: 3_000_000_000 },
      refused: { HOST: unusable, BOTH: /needs 2/ },
    },
    {
      name: 'the sources are apart by more than the limit',
      arrange: () => prices.say('{"rate":3030.1}'),
      quoted: { FEED: 3_000_000_000, HOST: 3_030_100_000 },
      refused: {
        BOTH: /its sources are more than 1 % apart/,
      },
    },
  ])('$name', async ({ arrange, quoted, refused }) => {
    await arrange();
    const found = await quote();
    expect(found.rates).toEqual(quoted);
    expect(Object.keys(found.refused).sort()).toEqual(Object.keys(refused).sort());
    expect(Object.values(found.refused).join()).not.toContain('127.0.0.1');
    for (const [symbol, why] of Object.entries(refused)) expect(found.refused[symbol]).toMatch(why);
  });

  test('and so is the payment itself', async () => {
    await feed.call('setPaused', [true]);
    const { status, body } = await rpc.call('pm_sponsorUserOperation', [
      anOperation(),
      { mode: 'ERC20', tokenInfo: { feeTokenAddress: byFeed.address } },
    ]);
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: -32602, data: { reason: 'FEE_TOKEN_UNSUPPORTED' } });
    expect(body.error?.message).toMatch(
      /fee token FEED has no price now: its source gives no price that may be used/,
    );
  });

  test('until the source is right again', async () => {
    prices.say('busy');
    expect(Object.keys((await quote()).rates)).toEqual(['FEED']);
    prices.say('{"rate":3000}');
    serving.advance(15_000);
    expect(Object.keys((await quote()).rates)).toEqual(['FEED', 'HOST', 'BOTH']);
  });
});

/** Unix seconds of more than an hour ago. */
async function longAgo(): Promise<number> {
  return (await chain.time()) - 3_700;
}
