import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createMetrics } from '../../../adapters/metrics/prometheus.js';
import { formatRefusal, type PriceAnswer } from '../../../core/pricing/price-source.js';
import type { FeeTokenSpec } from '../../../core/pricing/fee-token-spec.js';
import type { Address } from '../../../core/units/address.js';
import { aServedToken } from '../../build/prices.js';
import { until } from '../../support/until.js';
import { startFeedChain, type FeedChain } from './support/feed-chain.js';
import { startJsonHost, type JsonHost } from './support/json-host.js';
import { startServing, type Serving } from './support/serving.js';

// Hosts and tokens are real, but the tests move the time.

let chain: FeedChain;
let usdc: Address;
let host: JsonHost;
let headersDirectory: string;
const running: Serving[] = [];

beforeAll(async () => {
  chain = await startFeedChain();
  usdc = await chain.token({ symbol: 'USDC', decimals: 6 });
});
afterAll(() => chain.stop());
beforeEach(async () => {
  host = await startJsonHost();
  host.say('{"rate":3000}');
  headersDirectory = await mkdtemp(join(tmpdir(), 'price-headers-'));
});
afterEach(async () => {
  await Promise.all(running.splice(0).map(({ prices }) => prices.stop()));
  await host.stop();
  await rm(headersDirectory, { recursive: true });
});

function serving(overrides: Partial<Parameters<typeof startServing>[0]> = {}): Serving {
  const { url, chainId, chains } = chain;
  const started = startServing({ url, chainId, chains, headersDirectory, ...overrides });
  running.push(started);
  return started;
}

/** USDC on the chain, priced by the host. */
function aHttpToken(http: object = {}, overrides: Partial<FeeTokenSpec> = {}): FeeTokenSpec {
  const price = { http: { url: `${host.origin}/price`, path: 'rate', ...http } };
  return aServedToken({ address: usdc, price, ...overrides });
}

const rate = (answer: PriceAnswer | undefined): bigint | string | undefined =>
  answer === undefined ? undefined : answer.ok ? answer.price.rate : formatRefusal(answer.refusal);
const reason = (answer: PriceAnswer | undefined): string | undefined =>
  answer === undefined ? undefined : answer.ok ? 'ok' : answer.refusal.reason;

describe('a price', () => {
  test('is asked for once by all who want it at the same time, and not again for 15 seconds', async () => {
    const { prices, advance } = serving();
    const token = aHttpToken();
    const answers = await Promise.all(Array.from({ length: 100 }, () => prices.get(token)));
    expect(new Set(answers.map(rate))).toEqual(new Set([3_000_000_000n]));
    expect(host.received).toHaveLength(1);

    advance(14_999);
    await prices.get(token);
    expect(rate(prices.peek(token))).toBe(3_000_000_000n);
    expect(host.received).toHaveLength(1);

    advance(1);
    expect(prices.peek(token)).toBeUndefined();
    host.say('{"rate":3001}');
    expect(rate(await prices.get(token))).toBe(3_001_000_000n);
    expect(host.received).toHaveLength(2);
  });

  test('of several tokens in one document is one request', async () => {
    const { prices } = serving();
    host.say('{"USDC":{"rate":3000},"other":{"rate":2000}}');
    const tokens = ['{symbol}.rate', 'other.rate'].map((path) => aHttpToken({ path }));
    const answers = await Promise.all(tokens.map((token) => prices.get(token)));
    expect(answers.map(rate)).toEqual([3_000_000_000n, 2_000_000_000n]);
    expect(host.received).toHaveLength(1);
  });

  test('of the same token in another object is the same price', async () => {
    const { prices } = serving();
    await prices.get(aHttpToken());
    expect(rate(prices.peek(aHttpToken({}, { premiumPercentage: '99' })))).toBe(3_000_000_000n);
    expect(host.received).toHaveLength(1);
  });

  test('asks where the token says: chain id, address and symbol stand in the URL', async () => {
    const { prices } = serving();
    await prices.get(aHttpToken({ url: `${host.origin}/{chainId}/{address}?of={symbol}` }));
    expect(host.received.map(({ path }) => path)).toEqual([`/31337/${usdc.toLowerCase()}?of=USDC`]);
  });

  test('is refused for 15 seconds after a refusal, without asking again', async () => {
    const { prices, advance } = serving();
    const token = aHttpToken();
    host.say('busy');
    expect(reason(await prices.get(token))).toBe('MALFORMED');
    host.say('{"rate":3000}');
    advance(14_999);
    expect(reason(await prices.get(token))).toBe('MALFORMED');
    advance(1);
    expect(reason(await prices.get(token))).toBe('ok');
    expect(host.received).toHaveLength(2);
  });

  test('is not used past its age although it lies in the cache', async () => {
    const { prices, advance } = serving();
    const token = aHttpToken({ maxAgeSeconds: 10 });
    await prices.get(token);
    advance(9_999);
    expect(reason(prices.peek(token))).toBe('ok');
    advance(1);
    expect(rate(prices.peek(token))).toMatch(
      /^http 127\.0\.0\.1:\d+ is 10 s old, at most 10 s are accepted$/,
    );
  });

  test('stays for a minute while its host cannot be reached, and no longer', async () => {
    const { prices, advance } = serving();
    const token = aHttpToken();
    await prices.get(token);
    host.answer((_request, response) => response.writeHead(503).end());
    for (let elapsed = 15; elapsed < 60; elapsed += 15) {
      advance(15_000);
      expect(rate(await prices.get(token))).toBe(3_000_000_000n);
    }
    advance(15_000);
    expect(rate(await prices.get(token))).toMatch(/answers HTTP 503$/);
  });

  test('is given up at once when its host answers nonsense', async () => {
    const { prices, advance } = serving();
    const token = aHttpToken();
    await prices.get(token);
    host.say('{"rate":-1}');
    advance(15_000);
    expect(reason(await prices.get(token))).toBe('OUT_OF_RANGE');
  });

  test('is asked for again when the clock was set back: how old it is cannot be told', async () => {
    const { prices, advance } = serving();
    const token = aHttpToken();
    await prices.get(token);
    advance(-3_600_000);
    expect(prices.peek(token)).toBeUndefined();
    await prices.get(token);
    expect(host.received).toHaveLength(2);
    advance(-3_600_000);
    host.answer((_request, response) => response.writeHead(503).end());
    expect(reason(await prices.get(token))).toBe('UNREACHABLE');
  });

  test('of a chain that is not served is refused', async () => {
    const { prices } = serving();
    const token = aServedToken({ chainId: 1, price: { chainlink: { nativeFeed: usdc } } });
    expect(rate(await prices.get(token))).toMatch(/chain 1 is not served$/);
  });

  test('of a kind that this build does not know is refused', async () => {
    const { prices } = serving();
    expect(reason(await prices.get(aServedToken({ address: usdc, price: {} })))).toBe('MALFORMED');
  });

  test('is refused after the stop, which waits for pending reads', async () => {
    const { prices } = serving();
    const token = aHttpToken();
    const asked = prices.get(token);
    await prices.stop();
    await prices.stop();
    expect(reason(await asked)).toBe('ok');
    expect(rate(await prices.get(aHttpToken({ path: 'other' })))).toMatch(/the service is stopping$/);
    expect(host.received).toHaveLength(1);
  });
});

describe('prices of served tokens', () => {
  test('are kept warm: a quote finds them without a call of any kind', async () => {
    const metrics = createMetrics({ process: false });
    const { prices, serve, advance } = serving({ metrics });
    const feed = await chain.feed({ answer: 300_000_000_000n });
    const tokens = [
      aHttpToken(),
      aServedToken({ address: usdc, price: { chainlink: { nativeFeed: feed.address } } }),
    ];
    const areRead = async (times: number): Promise<boolean> => {
      const { body } = await metrics.render();
      return ['http', 'chainlink'].every((kind) =>
        body.includes(`paymaster_price_reads_total{source="${kind}",outcome="ok"} ${times}\n`),
      );
    };
    serve(...tokens);
    prices.start();
    for (let seconds = 0; seconds <= 60; seconds += 5) {
      await until('every 10 seconds both are read', () => areRead(1 + Math.floor(seconds / 10)));
      const [calls, requests] = [chain.calls(), host.received.length];
      for (const token of tokens) expect(rate(prices.peek(token))).toBe(3_000_000_000n);
      expect([chain.calls(), host.received.length]).toEqual([calls, requests]);
      advance(5_000);
      // The next reads have not finished.
      for (const token of tokens) expect(rate(prices.peek(token))).toBe(3_000_000_000n);
    }
  });

  test('follow the source within a quarter of a minute', async () => {
    const { prices, serve, advance } = serving();
    const feed = await chain.feed({ answer: 300_000_000_000n });
    const token = aServedToken({ address: usdc, price: { chainlink: { nativeFeed: feed.address } } });
    serve(token);
    prices.start();
    await until('the price is there', () => rate(prices.peek(token)) === 3_000_000_000n);
    await feed.call('set', [310_000_000_000n]);
    advance(12_500);
    await until('the new price is there', () => rate(prices.peek(token)) === 3_100_000_000n);
  });

  test('begin afresh when a source changes, and a token that is gone is forgotten', async () => {
    const metrics = createMetrics({ process: false });
    const { prices, serve, advance } = serving({ metrics });
    const before = aHttpToken();
    const after = aServedToken({ address: usdc, price: { static: { rate: '7' } } });
    serve(before);
    prices.start();
    await until('the price is there', () => reason(prices.peek(before)) === 'ok');
    serve(after);
    advance(2_500);
    await until('the new source is asked', () => rate(prices.peek(after)) === 7n);
    serve();
    advance(2_500);
    expect((await metrics.render()).body).not.toMatch(/symbol="USDC"/);
  });

  test('name the dollars of the native coin for every token of the chain', async () => {
    const { prices, serve } = serving();
    const feed = await chain.feed({ description: 'ETH / USD', answer: 312_345_000_000n });
    const withDollars = aServedToken({ address: usdc, price: { chainlink: { nativeFeed: feed.address } } });
    serve(aHttpToken(), withDollars);
    expect(prices.usdPerNative(31337)).toBeUndefined();
    await prices.get(aHttpToken());
    expect(prices.usdPerNative(31337)).toBeUndefined();
    await prices.get(withDollars);
    expect(prices.usdPerNative(31337)).toBe(3_123_450_000_000_000_000_000n);
    expect(prices.usdPerNative(1)).toBeUndefined();
  });

  test('show as metrics with chain and symbol, never with an address', async () => {
    const metrics = createMetrics({ process: false });
    const { prices, serve, advance } = serving({ metrics });
    const token = aHttpToken({ timePath: 'at' });
    host.say(`{"rate":3000,"at":${Date.now() - 60_000}}`);
    serve(token);
    await prices.get(token);
    const body = async () => (await metrics.render()).body;
    const labels = 'chain="31337",symbol="USDC"';
    expect(await body()).toContain(`paymaster_fee_token_rate_base_units{${labels}} 3000000000`);
    expect(await body()).toContain(`paymaster_fee_token_price_usable{${labels},source="http"} 1`);
    expect(await body()).toMatch(/paymaster_fee_token_price_age_seconds\{.*\} (59\.|6\d)/);
    expect(await body()).toContain('paymaster_price_reads_total{source="http",outcome="ok"} 1');

    host.say('{"rate":0,"at":1}');
    advance(15_000);
    await prices.get(token);
    expect(await body()).toContain(`paymaster_fee_token_price_usable{${labels},source="http"} 0`);
    expect(await body()).toMatch(
      /paymaster_price_reads_total\{source="http",outcome="(stale|out_of_range)"\} 1/,
    );
    // The last price stays visible, and its age grows.
    expect(await body()).toContain(`paymaster_fee_token_rate_base_units{${labels}} 3000000000`);
    expect(await body()).toMatch(/paymaster_fee_token_price_age_seconds\{.*\} 7\d(\.|\n)/);
    expect(await body()).not.toMatch(new RegExp(usdc, 'i'));
  });

  test('report changes once, and not every new rate', async () => {
    const { prices, changes, serve, advance } = serving();
    const token = aHttpToken();
    serve(token);
    await prices.get(token);
    expect(changes).toEqual([token]);
    for (const body of ['{"rate":3001}', '{"rate":3002}', 'busy', 'busy', '{"rate":3003}']) {
      host.say(body);
      advance(15_000);
      await prices.get(token);
    }
    expect(changes).toEqual([token, token, token]);
  });
});

describe('a fee token', () => {
  const fixed = { static: { rate: '3000000000' } };

  test('with other decimals on chain is refused, whatever its source says', async () => {
    const { prices } = serving();
    const answer = await prices.get(aServedToken({ address: usdc, decimals: 18, price: fixed }));
    expect(rate(answer)).toBe(`token ${usdc}: the token has 6 decimals, its FeeToken says 18`);
  });

  test('with another symbol on chain is refused', async () => {
    const { prices } = serving();
    const answer = await prices.get(aServedToken({ address: usdc, symbol: 'USDT', price: fixed }));
    expect(rate(answer)).toBe(`token ${usdc}: the token calls itself "USDC", its FeeToken says "USDT"`);
  });

  test('that is not a contract is refused', async () => {
    const { prices } = serving();
    const address = '0x00000000000000000000000000000000000000Ee';
    expect(reason(await prices.get(aServedToken({ address, price: fixed })))).toBe('MALFORMED');
  });

  test('whose decimals change is refused at the next check, within a minute', async () => {
    const { prices, advance } = serving();
    const address = await chain.token({ symbol: 'UPG', decimals: 6 });
    const token = aServedToken({ address, symbol: 'UPG', price: fixed });
    expect(reason(await prices.get(token))).toBe('ok');
    // As an upgrade of a proxy does: the same address, other code. It answers 8 to every call.
    await chain.chain.request('anvil_setCode', [address, '0x600860005260206000f3']);
    advance(60_000);
    expect(rate(await prices.get(token))).toBe(
      `token ${address}: the token has 8 decimals, its FeeToken says 6`,
    );
  });

  test('is asked for its symbol and decimals once a minute, not with every price', async () => {
    const { prices, advance } = serving();
    const token = aServedToken({ address: usdc, price: fixed });
    await prices.get(token);
    const calls = chain.calls();
    for (let round = 0; round < 3; round += 1) {
      advance(15_000);
      expect(reason(await prices.get(token))).toBe('ok');
    }
    expect(chain.calls()).toBe(calls);
  });

  test('of a chain that does not answer is refused until it was checked, and stays good when it was', async () => {
    const { prices, advance } = serving({ url: 'http://127.0.0.1:1' });
    const token = aServedToken({ address: usdc, price: fixed });
    expect(reason(await prices.get(token))).toBe('UNREACHABLE');

    const own = await startFeedChain();
    const address = await own.token({ symbol: 'USDC', decimals: 6 });
    const other = serving({ url: own.url, chains: own.chains });
    const checked = aServedToken({ address, price: fixed });
    expect(reason(await other.prices.get(checked))).toBe('ok');
    await own.stop();
    other.advance(600_000);
    expect(reason(await other.prices.get(checked))).toBe('ok');
    advance(0);
  });
});

describe('headers of a mounted file', () => {
  const file = (name: string) => join(headersDirectory, name);

  test('are sent, and read again when the file is replaced', async () => {
    const { prices, advance } = serving();
    const token = aHttpToken({ headersFile: 'prices.headers' });
    await writeFile(file('prices.headers'), '# key of the price service\nX-Api-Key: one\nx-tier: a b\n\n');
    await prices.get(token);
    expect(host.received[0]?.headers).toMatchObject({ 'x-api-key': 'one', 'x-tier': 'a b' });

    // As Kubernetes does: a whole new file takes the place of the old one.
    await writeFile(file('next'), 'X-Api-Key: two');
    await rename(file('next'), file('prices.headers'));
    advance(15_000);
    await prices.get(token);
    expect(host.received[1]?.headers['x-api-key']).toBe('two');
  });

  test('that are broken by an edit stay as they were', async () => {
    const { prices, advance } = serving();
    const token = aHttpToken({ headersFile: 'prices.headers' });
    await writeFile(file('prices.headers'), 'X-Api-Key: one');
    await prices.get(token);
    await writeFile(file('prices.headers'), 'X-Api-Key two');
    advance(15_000);
    expect(reason(await prices.get(token))).toBe('ok');
    expect(host.received[1]?.headers['x-api-key']).toBe('one');
  });

  test.each([
    { name: 'a missing file', content: undefined, says: /needs header file "h", which cannot be read$/ },
    { name: 'a line without a colon', content: 'secret-key-7', says: /whose line 1 must be "name: value"/ },
    { name: 'an empty value', content: 'a: b\nx-key:', says: /whose line 2 must be "name: value"/ },
    { name: 'a header of the connection', content: 'Transfer-Encoding: chunked', says: /whose line 1/ },
    { name: 'a control character', content: 'x-key: secret\u0007key-7', says: /whose line 1/ },
  ])('are refused for $name, without quoting it', async ({ content, says }) => {
    const { prices } = serving();
    if (content !== undefined) await writeFile(file('h'), content);
    const answer = await prices.get(aHttpToken({ headersFile: 'h' }));
    expect(rate(answer)).toMatch(says);
    expect(rate(answer)).not.toMatch(/key-7/);
    expect(host.received).toHaveLength(0);
  });
});
