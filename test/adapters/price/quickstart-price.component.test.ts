import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import type { Price } from '../../../core/pricing/price-source.js';
import type { FeeTokenSpec } from '../../../core/pricing/fee-token-spec.js';
import type { Address } from '../../../core/units/address.js';
import { isHexBytes } from '../../../core/units/hex.js';
import { readOwnArtifact } from '../../../standalone/dev-chain/artifacts.js';
import { startDevChain, type DevChain } from '../../chain/support/dev-chain.js';
import { repositoryRoot } from '../../support/repository-root.js';
import { startServing, type Serving } from './support/serving.js';

// The token of examples/quickstart on the chain that `make run` starts: it must quote on the first day and on every later
// one, even if somebody changes its feeds.

const day = 86_400_000;
let devChain: DevChain;
let token: FeeTokenSpec;
let serving: Serving;

beforeAll(async () => {
  devChain = await startDevChain();
  const manifest: { readonly spec: FeeTokenSpec } = parse(
    readFileSync(join(repositoryRoot, 'examples/quickstart/fee-token.yaml'), 'utf8'),
  );
  token = manifest.spec;
  serving = startServing(devChain);
});
afterAll(async () => {
  await serving.prices.stop();
  await devChain.stop();
});

async function priceNow(): Promise<Price> {
  const answer = await serving.prices.get(token);
  if (!answer.ok) throw new Error(answer.refusal.reason);
  return answer.price;
}

async function setFeed(feed: Address, method: string, values: readonly unknown[]): Promise<void> {
  const data = readOwnArtifact('DevFeed').abi.encodeFunctionData(method, values);
  if (!isHexBytes(data)) throw new Error('not hex');
  await devChain.transactor.send(method, { to: feed, data });
}

test('a fresh dev chain is priced by its feeds, in dollars too', async () => {
  const { rate, usdPerNative, source } = await priceNow();
  expect(rate).toBe(3_000_000_000n);
  expect(usdPerNative).toBe(3_000n * 10n ** 18n);
  expect(source).toMatch(/^chainlink /);
});

test('a feed that somebody sets is followed', async () => {
  await setFeed(devChain.deployments.feeds.native, 'set', [412_345_000_000n]);
  serving.advance(15_000);
  expect(await priceNow()).toMatchObject({ rate: 4_123_450_000n });
});

test.each([
  { name: 'paused', method: 'setPaused', values: [true], heal: [false] },
  { name: 'negative', method: 'set', values: [-1n], heal: [300_000_000_000n] },
])('a feed that is $name leaves the fixed price', async ({ method, values, heal }) => {
  await setFeed(devChain.deployments.feeds.native, method, values);
  serving.advance(15_000);
  expect(await priceNow()).toMatchObject({ source: 'static', rate: 3_000_000_000n });
  await setFeed(devChain.deployments.feeds.native, method, heal);
  serving.advance(15_000);
  expect((await priceNow()).source).toMatch(/^chainlink /);
});

test('a chain that stood idle for weeks still quotes, at the fixed price', async () => {
  for (const days of [1, 6, 23]) {
    serving.advance(days * day);
    expect(await priceNow()).toMatchObject({ source: 'static', rate: 3_000_000_000n });
  }
});
