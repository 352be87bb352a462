import { afterEach, describe, expect, test } from '@jest/globals';
import type { PriceSpec } from '../../core/pricing/fee-token-spec.js';
import { findCondition } from '../../core/meta/conditions.js';
import { aFeeToken } from '../build/resources.js';
import { conditionOf, startWorld, type World } from './world.js';

const nativeFeed = '0x00000000000000000000000000000000000000F1';
const fixed = { static: { rate: '3000000000' } };
const feed = { chainlink: { nativeFeed, maxAgeSeconds: 3_600 } };

let world: World;
afterEach(() => world.close());

async function startWith(price: PriceSpec, prepare: (started: World) => void = () => {}): Promise<void> {
  world = await startWorld();
  setFeed(300_000_000_000n);
  prepare(world);
  await world.apply(aFeeToken({ price }));
}

function setFeed(answer: bigint, ageSeconds = 0): void {
  const updatedAt = Math.floor(world.time.clock.now() / 1000) - ageSeconds;
  world.chain.feeds.set(nativeFeed.toLowerCase(), { answer, updatedAt });
}

async function conditions(): Promise<string> {
  const token = await world.get('FeeToken', 'dev-usd');
  return `PriceUsable ${conditionOf(token, 'PriceUsable')}, Ready ${conditionOf(token, 'Ready')}`;
}

const becomes = (want: string) => world.until(`it is ${want}`, async () => (await conditions()) === want);
const message = async () =>
  findCondition((await world.get('FeeToken', 'dev-usd')).status?.conditions, 'PriceUsable')?.message;

const usable = 'PriceUsable True/Usable, Ready True/Ready';

describe('the price of a FeeToken', () => {
  test('is usable when its source answers and the token is as described', async () => {
    await startWith(feed);
    await becomes(usable);
  });

  test.each<{
    name: string;
    price: PriceSpec;
    prepare: (started: World) => void;
    reason: string;
    says: string;
  }>([
    {
      name: 'other decimals',
      price: fixed,
      prepare: ({ chain }) => void (chain.token = { decimals: 8, symbol: 'USD' }),
      reason: 'DecimalsMismatch',
      says: 'Token 0x00000000000000000000000000000000000000D1 has 8 decimals: correct spec.decimals, which says 6.',
    },
    {
      name: 'another symbol',
      price: fixed,
      prepare: ({ chain }) => void (chain.token = { decimals: 6, symbol: 'EUR' }),
      reason: 'SymbolMismatch',
      says: 'Token 0x00000000000000000000000000000000000000D1 calls itself "EUR": correct spec.symbol, which says "USD".',
    },
    {
      name: 'a stale feed',
      price: feed,
      prepare: () => setFeed(1n, 3_600),
      reason: 'Stale',
      says: `Chainlink ${nativeFeed} is older than 3600 s: check the source, or raise its maximum age.`,
    },
    {
      name: 'a feed that answers nonsense',
      price: feed,
      prepare: () => setFeed(0n),
      reason: 'OutOfRange',
      says: `Chainlink ${nativeFeed} answers what is not a plausible price: check what it quotes.`,
    },
    {
      name: 'sources that are apart',
      price: { combine: { sources: [feed, { static: { rate: '3100000000' } }], maxDeviationPercent: 1 } },
      prepare: () => {},
      reason: 'Deviation',
      says: `Chainlink ${nativeFeed} and static are more than 1 % apart: find out which one is wrong.`,
    },
    {
      name: 'too few sources',
      price: { combine: { sources: [feed, fixed], minSources: 2 } },
      prepare: () => setFeed(1n, 9_999),
      reason: 'TooFewSources',
      says: `2 sources are needed, and these give no price: chainlink ${nativeFeed} is older than 3600 s: check the source, or raise its maximum age.`,
    },
  ])('says what is wrong with $name', async ({ price, prepare, reason, says }) => {
    await startWith(price, prepare);
    // A trouble that passes by itself leaves the token ready; a mistake that somebody has to correct does not.
    const ready = reason.endsWith('Mismatch') ? 'False/PriceNotUsable' : 'True/Ready';
    await becomes(`PriceUsable False/${reason}, Ready ${ready}`);
    expect(await message()).toBe(says);
  });

  test('follows its source: a feed that stops is stale, and usable again when it resumes', async () => {
    await startWith(feed);
    await becomes(usable);
    // Nobody updates the feed, and time passes.
    world.time.advance(3_600_000);
    await becomes('PriceUsable False/Stale, Ready True/Ready');
    setFeed(300_000_000_000n);
    await becomes(usable);
  });

  test('survives a chain outage of less than a minute, and reports a longer one', async () => {
    await startWith(feed);
    await becomes(usable);
    const { resourceVersion } = (await world.get('FeeToken', 'dev-usd')).metadata;
    world.chain.isReachable = false;
    world.time.advance(30_000);
    world.chain.isReachable = true;
    await world.settle();
    expect((await world.get('FeeToken', 'dev-usd')).metadata.resourceVersion).toBe(resourceVersion);

    world.chain.isReachable = false;
    await becomes('PriceUsable False/Unreachable, Ready True/Ready');
  });

  test('that cannot be read does not make a token ready that differs from its description', async () => {
    await startWith(fixed, ({ chain }) => void (chain.token = { decimals: 8, symbol: 'USD' }));
    await becomes('PriceUsable False/DecimalsMismatch, Ready False/PriceNotUsable');
    world.chain.isReachable = false;
    for (let minute = 0; minute < 3; minute += 1) await world.settle();
    expect(await conditions()).toMatch(/Ready False\/PriceNotUsable$/);
    world.chain.isReachable = true;
    world.chain.token = { decimals: 6, symbol: 'USD' };
    await becomes(usable);
  });

  test('never appears in the status: rates and ages change, the status does not', async () => {
    await startWith(feed);
    await becomes(usable);
    const before = await world.get('FeeToken', 'dev-usd');
    for (const answer of [310_000_000_000n, 290_000_000_000n, 305_000_000_000n]) {
      setFeed(answer, 60);
      await world.settle();
    }
    expect(await world.get('FeeToken', 'dev-usd')).toEqual(before);
    expect(JSON.stringify(before.status)).not.toMatch(/\d{8}/);
  });

  test('is remembered over a restart until the source is read again', async () => {
    await startWith(feed);
    await becomes(usable);
    const before = await world.get('FeeToken', 'dev-usd');
    await world.restart();
    await world.settle();
    expect(await world.get('FeeToken', 'dev-usd')).toEqual(before);
  });

  test('is not read for a token that is not served', async () => {
    world = await startWorld({ isEmpty: true });
    await world.apply(aFeeToken({ price: feed }));
    await world.settle();
    expect(await conditions()).toBe('PriceUsable absent, Ready False/NotResolved');
  });
});
