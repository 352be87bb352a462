import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createMetrics } from '../../../adapters/metrics/prometheus.js';
import { toDollarSpec, inDollars, type NativePriceSpec } from '../../../core/pricing/native-price.js';
import { formatRefusal } from '../../../core/pricing/price-source.js';
import { startFeedChain, type FeedChain } from './support/feed-chain.js';
import { startJsonHost, type JsonHost } from './support/json-host.js';
import { startServing, type Serving } from './support/serving.js';

let chain: FeedChain;
let host: JsonHost;
const running: Serving[] = [];

beforeAll(async () => {
  chain = await startFeedChain();
});
afterAll(() => chain.stop());
beforeEach(async () => {
  host = await startJsonHost();
});
afterEach(async () => {
  await Promise.all(running.splice(0).map(({ prices }) => prices.stop()));
  await host.stop();
});

function serving(overrides: Partial<Parameters<typeof startServing>[0]> = {}): Serving {
  const started = startServing({
    url: chain.url,
    chainId: chain.chainId,
    chains: chain.chains,
    ...overrides,
  });
  running.push(started);
  return started;
}

/** Micro-dollars per coin, or what is wrong. */
async function dollars(
  spec: NativePriceSpec,
  { prices, serveDollars } = serving(),
): Promise<bigint | string> {
  serveDollars(inDollars(spec));
  const answer = await prices.get(toDollarSpec(chain.chainId, inDollars(spec)));
  if (!answer.ok) return formatRefusal(answer.refusal);
  expect(answer.price.usdPerNative).toBe(answer.price.rate);
  return answer.price.rate / 10n ** 12n;
}

const aFeed = async (description: string, answer: bigint): Promise<string> =>
  (await chain.feed({ description, answer })).address;

describe('the price of a native coin in dollars', () => {
  test('is what a feed in dollars, a document or the Chain itself says', async () => {
    const nativeFeed = await aFeed('ETH / USD', 312_345_000_000n);
    expect(await dollars({ chainlink: { nativeFeed } })).toBe(3_123_450_000n);
    host.say('{"eth":{"usd":3123.45}}');
    expect(await dollars({ http: { url: host.origin, path: 'eth.usd' } })).toBe(3_123_450_000n);
    expect(await dollars({ static: { usdPerNative: '0.000001' } })).toBe(1n);
  });

  test('may be nothing where a test chain says so', async () => {
    expect(await dollars({ static: { usdPerNative: '0' } })).toBe(0n);
  });

  test('is not used while the sequencer of the roll-up is down, and for an hour after', async () => {
    const nativeFeed = await aFeed('ETH / USD', 312_345_000_000n);
    const down = await aFeed('L2 Sequencer Uptime Status Feed', 1n);
    const up = await aFeed('L2 Sequencer Uptime Status Feed', 0n);
    expect(await dollars({ chainlink: { nativeFeed, sequencerFeed: down } })).toBe(
      `chainlink ${down} does not say that the sequencer is up`,
    );
    // Its state is as old as the feed, which was just deployed.
    expect(await dollars({ chainlink: { nativeFeed, sequencerFeed: up } })).toBe(
      `chainlink ${up} says that the sequencer is up for less than an hour`,
    );
  });

  test('is never that of a feed in another currency, or one that names none', async () => {
    for (const description of ['GNO / EUR', 'ETH']) {
      const nativeFeed = await aFeed(description, 312_345_000_000n);
      expect(await dollars({ chainlink: { nativeFeed } })).toBe(
        `chainlink ${nativeFeed} does not say that it quotes US dollars: its description() must end in "/ USD"`,
      );
    }
  });

  test('is compared between sources of different kinds', async () => {
    const nativeFeed = await aFeed('ETH / USD', 300_000_000_000n);
    const sources = [{ chainlink: { nativeFeed } }, { static: { usdPerNative: '3010' } }];
    expect(await dollars({ combine: { maxDeviationPercent: 1, sources } })).toBe(3_000_000_000n);
    expect(await dollars({ combine: { maxDeviationPercent: 0.1, sources } })).toContain(
      'more than 0.1 % apart',
    );
  });

  test('names the dollars of quotes, and shows as metrics of the chain until it is taken away', async () => {
    const metrics = createMetrics({ process: false });
    const own = serving({ metrics });
    const nativeFeed = await aFeed('ETH / USD', 312_345_000_000n);
    await dollars({ chainlink: { nativeFeed } }, own);
    expect(own.prices.usdPerNative(chain.chainId)).toBe(3_123_450_000_000_000_000_000n);
    const body = async () => (await metrics.render()).body;
    expect(await body()).toContain('paymaster_native_price_usd{chain="31337"} 3123.45');
    expect(await body()).toContain('paymaster_native_price_usable{chain="31337",source="chainlink"} 1');
    expect(await body()).toMatch(/paymaster_native_price_age_seconds\{chain="31337"\} \d/);
    expect(await body()).not.toContain('symbol="USD"');

    own.serveDollars(undefined);
    own.prices.start();
    expect(await body()).not.toContain('paymaster_native_price_usd{');
    expect(await body()).not.toContain('paymaster_native_price_usable{');
    expect(await body()).not.toContain('paymaster_native_price_age_seconds{');
  });
});
