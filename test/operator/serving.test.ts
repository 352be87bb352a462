import { afterEach, describe, expect, test } from '@jest/globals';
import { deriveBudgetId, derivePolicyId } from '../../core/config/ids.js';
import { DomainError } from '../../core/errors.js';
import type { Reports } from '../../core/reports/reports.js';
import { inOrder, problemsAmong } from '../../core/problems/problems.js';
import type { ConditionType } from '../../core/meta/condition-reasons.js';
import {
  fundsSubject,
  type FundsTrouble,
  type ServingEntries,
  type ServingTrouble,
} from '../../core/reports/serving-reports.js';
import { parseAddress, toAddressKey } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import { aChain, aFeeToken, anOrganisation, aPaymaster, aPolicy, aProfile } from '../build/resources.js';
import { tokenContract } from './scripted-chain.js';
import { conditionOf, isReady, startWorld, type World } from './world.js';

let world: World;
afterEach(() => world.close());

const contract = parseAddress(aProfile.addresses.sponsorship);
const wallet = parseAddress('0x00000000000000000000000000000000000000f1');
const walletAccount = { contract: toAddressKey(contract), fundingAddress: toAddressKey(wallet) };
const aWebhook = {
  policyType: 'WEBHOOK' as const,
  webhook: { url: 'https://kyc.example/hook', method: 'POST' as const },
};

/** The reports of servers; while `isAway` they cannot be read. */
const store = { entries: new Map() as ServingEntries, isAway: false };
const reports = {
  all: async (subject: string) => {
    if (store.isAway) throw new DomainError('UNAVAILABLE', 'away');
    return subject === 'serving' ? store.entries : new Map();
  },
} as Pick<Reports, 'all'>;
const report = (trouble?: ServingTrouble): void => {
  const policyId = derivePolicyId('acme', 'daily');
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
    { trouble: 'LimitFull', says: 'Full: "Daily limit". Wait until it resets, or raise the threshold.' },
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
    store.entries = new Map([[deriveBudgetId('acme', 'month'), full]]);
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

const lasting = Number.MAX_SAFE_INTEGER as EpochMs;
const policyState = async (type: ConditionType, name = 'daily'): Promise<string> =>
  conditionOf(await world.get('PaymasterPolicy', name), type);

test('everything that is wrong shows at the same time, the most severe first, and each at its own object with its time', async () => {
  await start();
  await world.apply(
    aChain({ nativePrice: { static: { usdPerNative: '3000' } } }),
    anOrganisation({ budgets: [{ name: 'month', chain: 31337, usd: '5', never: {} }] }),
    aPolicy({ meta: { name: 'kyc' }, name: 'KYC', ...aWebhook }),
  );
  await world.until('the policy is served', async () => (await policyState('Ready', 'kyc')) === 'True/Ready');
  store.entries = new Map([
    [derivePolicyId('acme', 'daily'), { trouble: 'LimitFull', until: lasting }],
    [deriveBudgetId('acme', 'month'), { trouble: 'LimitFull', until: lasting }],
    [derivePolicyId('acme', 'kyc'), { trouble: 'WebhookFailing', until: lasting }],
    [fundsSubject(31337, walletAccount), { trouble: 'Promised', until: lasting }],
  ]);
  await becomes('False/DepositEmpty');
  const message = await messageOf();
  const order = [
    'What is not promised of the deposit of',
    'No answer from the host of "KYC"',
    'Full: "Daily limit", budget "month"',
  ];
  expect(order.map((text) => message?.indexOf(text))).toEqual(
    order.map((text) => message?.indexOf(text)).toSorted((a = 0, b = 0) => a - b),
  );
  expect(order.every((text) => message?.includes(text))).toBe(true);
  expect(await policyState('Exhausted')).toBe('True/LimitFull');
  expect(await policyState('HostFailing', 'kyc')).toBe('True/WebhookFailing');
  expect(await policyState('Ready', 'kyc')).toBe('True/Ready');
  await world.until(
    'the Organisation says it',
    async () => conditionOf(await world.get('Organisation', 'acme'), 'Exhausted') === 'True/BudgetFull',
  );
  const objects = await Promise.all([
    world.get('Paymaster', 'shop'),
    world.get('PaymasterPolicy', 'daily'),
    world.get('PaymasterPolicy', 'kyc'),
    world.get('Organisation', 'acme'),
  ]);
  const problems = inOrder(problemsAmong(objects, world.time.clock.now()));
  const shown = problems.map(({ check, kind, name, since }) => [check, kind, name, since !== undefined]);
  expect(shown.filter(([check]) => check !== 'open-sponsorship')).toEqual([
    ['webhook-failing', 'PaymasterPolicy', 'kyc', true],
    ['deposit-promised', 'Paymaster', 'shop', true],
    ['limit-full', 'Organisation', 'acme', true],
    ['limit-full', 'PaymasterPolicy', 'daily', true],
  ]);

  report();
  await becomes('True/Serving');
  await world.until('each is gone', async () => {
    const states = [policyState('Exhausted'), policyState('HostFailing', 'kyc')];
    return (await Promise.all(states)).every((state) => state === 'absent');
  });
});

test.each<{ trouble: FundsTrouble; subject: string; says: string }>([
  {
    trouble: 'Promised',
    subject: fundsSubject(31337, walletAccount),
    says: `What is not promised of the deposit of ${wallet} in contract ${contract} covers no operation of 300000 gas`,
  },
  {
    trouble: 'Promised',
    subject: fundsSubject(31337, { contract: toAddressKey(contract) }),
    says: `What is not promised of the deposit of contract ${contract} in EntryPoint`,
  },
  {
    trouble: 'ShareFull',
    subject: fundsSubject(31337, walletAccount, { organisation: 'acme' }),
    says: "Promises take all of the organisation's share of the deposit of",
  },
])(
  'Funded is $trouble as servers report it, stays over a restart, and follows them again',
  async ({ trouble, subject, says }) => {
    await start();
    store.entries = new Map([[subject, { trouble, until: lasting }]]);
    await becomes('False/DepositEmpty');
    const funded = async () => conditionOf(await world.get('Paymaster', 'shop'), 'Funded');
    expect(await funded()).toBe(`False/${trouble}`);
    expect(await messageOf()).toContain(says);
    store.isAway = true;
    await world.restart();
    await world.settle();
    expect(await funded()).toBe(`False/${trouble}`);
    store.isAway = false;
    report();
    await becomes('True/Serving');
    expect(await funded()).toBe('True/Ok');
  },
);

test("another organisation's full share, and an account of another chain, leave the paymaster funded", async () => {
  await start();
  store.entries = new Map([
    [fundsSubject(31337, walletAccount, { organisation: 'rival' }), { trouble: 'ShareFull', until: lasting }],
    [fundsSubject(1, walletAccount), { trouble: 'Promised', until: lasting }],
  ]);
  await world.settle();
  expect(await state('Serving')).toBe('True/Serving');
});

test('a full budget for token losses is said, while sponsorships go on', async () => {
  await start();
  await world.apply(
    aChain({ profiles: [{ ...aProfile, addresses: { ...aProfile.addresses, token: tokenContract } }] }),
  );
  store.entries = new Map([
    [
      fundsSubject(31337, { contract: toAddressKey(tokenContract) }, 'tokens'),
      { trouble: 'TokenBudgetFull', until: lasting },
    ],
  ]);
  await becomes('True/TokenBudgetFull');
});
