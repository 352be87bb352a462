import { afterEach, describe, expect, test } from '@jest/globals';
import { budgetIdOf, policyIdOf } from '../../core/config/ids.js';
import { DomainError } from '../../core/errors.js';
import type { Reports } from '../../core/policy/reports.js';
import type { ServingEntries, ServingTrouble } from '../../core/policy/serving-reports.js';
import type { EpochMs } from '../../core/units/time.js';
import { aChain, aFeeToken, anOrganisation, aPaymaster, aPolicy, aProfile } from '../build/resources.js';
import { tokenContract } from './scripted-chain.js';
import { conditionOf, isReady, startWorld, type World } from './world.js';

let world: World;
afterEach(() => world.close());

/** The reports of servers; while `isAway` they cannot be read. */
const store = { entries: new Map() as ServingEntries, isAway: false };
const reports = {
  all: async (subject: string) => {
    if (store.isAway) throw new DomainError('UNAVAILABLE', 'away');
    return subject === 'serving' ? store.entries : new Map();
  },
} as Pick<Reports, 'all'>;
const report = (trouble?: ServingTrouble): void => {
  const policyId = policyIdOf('acme', 'daily');
  store.entries = new Map(
    trouble === undefined ? [] : [[policyId, { trouble, until: Number.MAX_SAFE_INTEGER as EpochMs }]],
  );
};
const state = async (type: 'Serving' | 'Ready'): Promise<string> =>
  conditionOf(await world.get('Paymaster', 'shop'), type);
const becomes = (want: string) =>
  world.until(`Serving is ${want}`, async () => (await state('Serving')) === want);
const messageOf = async (): Promise<string | undefined> =>
  (await world.get('Paymaster', 'shop')).status?.conditions?.find(({ type }) => type === 'Serving')?.message;

async function start(): Promise<void> {
  report();
  store.isAway = false;
  world = await startWorld({ deps: { reports } });
  await world.apply(aPaymaster(), aPolicy({ meta: { name: 'daily' }, name: 'Daily limit' }));
  await world.until('it is ready', isReady(world));
  await becomes('True/Serving');
}

describe('the condition Serving of a Paymaster', () => {
  test.each<{ trouble: ServingTrouble; says: string }>([
    { trouble: 'LimitFull', says: 'Full: "Daily limit". Wait for the next cycle, or raise the threshold.' },
    {
      trouble: 'WebhookFailing',
      says: 'No answer from the host of "Daily limit": operations are refused.',
    },
  ])('shows $trouble as servers report it, and leaves Ready alone', async ({ trouble, says }) => {
    await start();
    report(trouble);
    await becomes(`False/${trouble}`);
    expect(await messageOf()).toBe(says);
    expect(await state('Ready')).toBe('True/Ready');
    report();
    await becomes('True/Serving');
  });

  test('stays while reports cannot be read, also over a restart, and follows them again later', async () => {
    await start();
    report('LimitFull');
    await becomes('False/LimitFull');
    const { resourceVersion } = (await world.get('Paymaster', 'shop')).metadata;
    store.isAway = true;
    await world.restart();
    await world.settle();
    expect((await world.get('Paymaster', 'shop')).metadata.resourceVersion).toBe(resourceVersion);
    store.isAway = false;
    await world.settle();
    expect((await world.get('Paymaster', 'shop')).metadata.resourceVersion).toBe(resourceVersion);
    report();
    await becomes('True/Serving');
  });

  test('names, after a minute, the tokens without a price, while sponsorships go on', async () => {
    await start();
    const feed = '0x00000000000000000000000000000000000000f1';
    const updatedAt = () => Math.floor(world.time.clock.now() / 1000);
    world.chain.feeds.set(feed, { answer: 300_000_000_000n, updatedAt: updatedAt() - 9_000 });
    await world.apply(
      aChain({ profiles: [{ ...aProfile, addresses: { ...aProfile.addresses, token: tokenContract } }] }),
      aFeeToken({ price: { chainlink: { nativeFeed: feed, maxAgeSeconds: 3_600 } } }),
    );
    await becomes('True/TokensUnpriced');
    expect(await messageOf()).toBe(
      'Sponsorships are signed; payments in dev-usd are refused: see the FeeTokens.',
    );
    expect(await state('Ready')).toBe('True/Ready');
    world.chain.feeds.set(feed, { answer: 300_000_000_000n, updatedAt: updatedAt() });
    await becomes('True/Serving');
  });

  test('names a full budget of the Organisation at each of its paymasters on that chain', async () => {
    await start();
    await world.apply(
      aChain({ nativePrice: { static: { usdPerNative: '3000' } } }),
      anOrganisation({ budgets: [{ name: 'month', chain: 31337, usd: '5', never: {} }] }),
    );
    await becomes('True/Serving');
    const full = { trouble: 'LimitFull', until: Number.MAX_SAFE_INTEGER as EpochMs } as const;
    store.entries = new Map([[budgetIdOf('acme', 'month'), full]]);
    await becomes('False/LimitFull');
    expect(await messageOf()).toMatch(/^Full: budget "month" of the Organisation\. /);
    report();
    await becomes('True/Serving');
  });

  test('says that a budget lacks the price of the coin, until the Chain has one', async () => {
    await start();
    await world.apply(anOrganisation({ budgets: [{ name: 'month', chain: 31337, usd: '5', never: {} }] }));
    await world.until('it is not ready', async () => (await state('Ready')) === 'False/NoNativePrice');
    expect(conditionOf(await world.get('Organisation', 'acme'), 'Accepted')).toBe('False/NoNativePrice');
    await world.apply(aChain({ nativePrice: { static: { usdPerNative: '3000' } } }));
    await world.until('it is ready again', async () => (await state('Ready')) === 'True/Ready');
  });

  test('does not report a paused policy', async () => {
    await start();
    report('LimitFull');
    await becomes('False/LimitFull');
    await world.apply(aPolicy({ meta: { name: 'daily' }, name: 'Daily limit', active: false }));
    await becomes('True/Serving');
  });
});
