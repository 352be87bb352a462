import { afterEach, expect, test } from '@jest/globals';
import { findCondition } from '../../core/meta/conditions.js';
import { aChain } from '../build/resources.js';
import { conditionOf, startWorld, type World } from './world.js';

const nativeFeed = '0x00000000000000000000000000000000000000F1';

let world: World;
afterEach(() => world.close());

const chain = () => world.get('Chain', aChain().metadata.name);
const becomes = (want: string) =>
  world.until(`PriceUsable is ${want}`, async () => conditionOf(await chain(), 'PriceUsable') === want);
const message = async () => findCondition((await chain()).status?.conditions, 'PriceUsable')?.message;

function setFeed(description: string, ageSeconds = 0): void {
  const updatedAt = Math.floor(world.time.clock.now() / 1000) - ageSeconds;
  world.chain.feeds.set(nativeFeed.toLowerCase(), { answer: 300_000_000_000n, updatedAt, description });
}

test('a Chain shows whether the price of its coin can be used, and stays ready', async () => {
  world = await startWorld();
  setFeed('ETH / USD');
  await world.apply(aChain({ nativePrice: { chainlink: { nativeFeed, maxAgeSeconds: 3_600 } } }));
  await becomes('True/Usable');

  setFeed('ETH / USD', 3_601);
  await becomes('False/Stale');
  expect(await message()).toBe(
    `Chainlink ${nativeFeed} is older than 3600 s: check the source, or raise its maximum age.`,
  );
  expect(conditionOf(await chain(), 'Ready')).toBe('True/Ready');

  setFeed('ETH / USD');
  await becomes('True/Usable');
  await world.apply(aChain());
  await becomes('absent');
});

test('a feed that does not quote dollars is not used', async () => {
  world = await startWorld();
  setFeed('GNO / EUR');
  await world.apply(aChain({ nativePrice: { chainlink: { nativeFeed } } }));
  await becomes('False/Malformed');
  expect(await message()).toBe(
    `Chainlink ${nativeFeed} does not say that it quotes US dollars: its description() must end in "/ USD".`,
  );
});
