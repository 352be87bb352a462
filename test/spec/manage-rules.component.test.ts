import { beforeAll, describe, expect, test } from '@jest/globals';
import { paymasterIdOf } from '../../core/config/ids.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { policyTypes } from '../../core/policy/derived.js';
import { addressListOf } from '../../core/policy/address-list.js';
import { compileLimits, limitShares } from '../../core/policy/spending-limit/shares.js';
import { toAddressKey } from '../../core/units/address.js';
import type { EpochMs, EpochSeconds } from '../../core/units/time.js';
import { noCost } from '../../core/usage/unit.js';
import { managePrefix } from '../../server/dashboard/endpoints.js';
import { acmeToken, chainId, otherToken, recordOf, recordsOf } from '../build/dashboard.js';
import { addressOf, aChainConfig, aLimitConfig, aPaymasterConfig } from '../build/configs.js';
import { useDashboard } from '../support/use-dashboard.js';

// Every rule of a paymaster, with what it says now.

const host = useDashboard({ operator: false });
const user = toAddressKey(addressOf(0xa11ce));
const paymasterId = paymasterIdOf('acme', 'shop');
/** The clock goes on, and the limits' windows stay those of this time. */
let start: EpochMs;
const at = (seconds: number): EpochMs => (start + seconds * 1000) as EpochMs;

async function ask(path: string, token = acmeToken, accept = 'application/json') {
  const response = await host.fetch(`${managePrefix}/paymasters/${path}`, {
    headers: { Authorization: `Bearer ${token}`, Accept: accept },
  });
  return { status: response.status, text: await response.text() };
}

async function rulesOf(path = 'shop/rules') {
  const { status, text } = await ask(path);
  expect({ status, text }).toMatchObject({ status: 200 });
  return recordsOf(recordOf(recordOf(JSON.parse(text))['data'])['rules']);
}

const named = (rules: readonly Readonly<Record<string, unknown>>[], name: string) =>
  rules.find((rule) => rule['name'] === name);

const put = (config: Partial<PaymasterConfig>) =>
  host.configs.putPaymaster(aPaymasterConfig({ paymasterId, ...config }));

const limits = () => [
  aLimitConfig({ policyId: 'l1', name: 'All', startMs: start, threshold: '10' }),
  aLimitConfig({ policyId: 'l2', name: 'Each', scope: 'SMART_ACCOUNT', startMs: start }),
  aLimitConfig({
    policyId: 'l3',
    name: 'Trial',
    shadow: true,
    thresholdType: 'USD',
    threshold: '2.5',
    startMs: start,
  }),
  aLimitConfig({ policyId: 'b1', name: 'Month', threshold: '50', budget: true, startMs: start }),
];

beforeAll(async () => {
  start = host.clock.now();
  const body = { name: 'shop', spec: { name: 'shop', chainId, type: 'HYBRID', version: '1.1.0' } };
  const made = await host.fetch(`${managePrefix}/paymasters`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${acmeToken}` },
    body: JSON.stringify(body),
  });
  expect(made.status).toBe(201);
  await host.configs.putChain(aChainConfig());
});

test('a paymaster that is not served yet, is of others, or does not exist has none to show', async () => {
  expect(await ask('shop/rules')).toMatchObject({ status: 404, text: expect.stringContaining('not served') });
  await put({});
  expect(await ask('shop/rules', otherToken)).toMatchObject({ status: 404 });
  expect(await ask('nobody/rules')).toMatchObject({ status: 404 });
  expect(await ask('shop/rules?sender=0x1')).toMatchObject({
    status: 400,
    text: expect.stringContaining('sender'),
  });
});

test('each kind of policies is told, by the row of the kind', async () => {
  const list = addressListOf([user]).list;
  await host.configs.putList(list);
  await put({
    limits: limits(),
    operationLimits: [
      { policyId: 'l4', name: 'Each one', thresholdType: 'NATIVE_ASSET', perOperation: '0.01' },
    ],
    webhooks: [
      {
        policyId: 'w1',
        name: 'Ask',
        method: 'POST',
        onError: 'Deny',
        url: 'https://user:secret@hooks.example/path?key=secret',
      },
      {
        policyId: 'w2',
        name: 'Listen',
        method: 'POST',
        onError: 'Allow',
        shadow: true,
        url: 'https://other.example/',
      },
    ],
    walletDeployment: true,
    windows: [
      { policyId: 'n1', name: 'Open', until: at(60) },
      { policyId: 'n2', name: 'Later', from: at(60), until: at(120), appliesTo: ['SPONSORED', 'ERC20'] },
      { policyId: 'n3', name: 'Over', until: at(-60) },
    ],
    senders: [{ policyId: 's1', name: 'Guests', action: 'Allow', list: list.hash, count: 1 }],
    expressions: [{ policyId: 'e1', name: 'Chain', text: 'chain == 1', methods: [] }],
  });
  const rules = await rulesOf();
  expect(new Set(rules.map(({ policyType }) => policyType))).toEqual(new Set(['CONTRACTS', ...policyTypes]));
  const instant = (seconds: number) => new Date(at(seconds)).toISOString();
  expect(rules).toEqual([
    expect.objectContaining({ name: 'Contracts', says: 'the listed methods of 1 contract pass' }),
    {
      policyType: 'PAYMASTER_SA_LIMIT',
      policyId: 'l1',
      name: 'All',
      enforcement: 'Enforce',
      appliesTo: ['SPONSORED'],
      says: '0 operations used and 0 operations promised of 10 operations',
      remaining: '10 operations',
      turnsAt: instant(86_400),
    },
    expect.objectContaining({ name: 'Each', says: 'at most 1000 operations for each account' }),
    expect.objectContaining({ name: 'Trial', enforcement: 'Shadow', remaining: '2.5 dollars' }),
    expect.objectContaining({
      name: 'Month',
      says: '0 operations used and 0 operations promised of 50 operations, the budget of the Organisation',
    }),
    expect.objectContaining({ name: 'Each one', says: 'at most 0.01 ether for each operation' }),
    expect.objectContaining({
      name: 'Ask',
      says: 'asks hooks.example, and refuses when that does not answer',
    }),
    expect.objectContaining({
      name: 'Listen',
      enforcement: 'Shadow',
      says: 'asks other.example, and lets operations pass when that does not answer',
    }),
    expect.objectContaining({ name: 'Deployment of wallets' }),
    expect.objectContaining({ name: 'Open', verdict: 'pass', turnsAt: instant(60) }),
    expect.objectContaining({
      name: 'Later',
      verdict: 'refuse',
      says: `opens at ${instant(60)}`,
      turnsAt: instant(60),
      appliesTo: ['SPONSORED', 'ERC20'],
    }),
    expect.objectContaining({ name: 'Over', verdict: 'refuse', says: `ended at ${instant(-60)}` }),
    expect.objectContaining({ name: 'Guests', says: 'serves 1 account alone' }),
    expect.objectContaining({ name: 'Chain', says: 'chain == 1' }),
  ]);
  expect(JSON.stringify(rules)).not.toContain('secret');
  const table = (await ask('shop/rules', acmeToken, 'text/csv')).text.split('\r\n');
  expect(table).toHaveLength(rules.length + 2);
  expect(table[2]).toMatch(/^PAYMASTER_SA_LIMIT,l1,All,Enforce,,0 operations used/);
});

describe('limits', () => {
  beforeAll(async () => {
    await put({ limits: limits() });
    const shares = limitShares(compileLimits(limits()), {
      sender: user,
      cost: noCost,
      now: host.usage.now(),
    });
    await host.usage.advance({
      chainId,
      expected: undefined,
      next: { blockNumber: 1, blockHash: '0x01', timestamp: 1 as EpochSeconds },
      settled: [],
      released: [],
      forfeited: [],
      charges: shares.map(({ counter, unit, window }, index) => ({
        counter,
        unit,
        until: window.until,
        amount: [10, 3, 1_000_001, 0][index]!,
      })),
      restored: [],
      balances: [],
    });
  });

  test('say what is used, what is left, and that nothing is', async () => {
    const rules = await rulesOf();
    expect(named(rules, 'All')).toMatchObject({
      says: '10 operations used and 0 operations promised of 10 operations',
      verdict: 'refuse',
      remaining: '0 operations',
    });
    expect(named(rules, 'Trial')).toMatchObject({ remaining: '1.499999 dollars' });
    expect(named(rules, 'Each')).not.toHaveProperty('remaining');
  });

  test('of each account say what the account has used that is named, and nothing of others', async () => {
    expect(named(await rulesOf(`shop/rules?sender=${user}`), 'Each')).toMatchObject({
      says: `3 operations used and 0 operations promised of 1000 operations for ${user}`,
      remaining: '997 operations',
    });
    const other = addressOf(0xb0b);
    expect(named(await rulesOf(`shop/rules?sender=${other}`), 'Each')).toMatchObject({
      remaining: '1000 operations',
    });
  });
});

test('policies of campaigns are listed with their campaign, and the campaigns that a request may name', async () => {
  const [all] = limits();
  await put({
    campaigns: ['paused', 'summer'],
    limits: [{ ...all!, campaign: 'summer' }],
    windows: [{ policyId: 'n1', name: 'Always', from: at(-60) }],
    walletDeployment: true,
    deployments: [{ policyId: 'd1', name: 'Deploy', campaign: 'summer' }],
  });
  const rules = await rulesOf();
  expect(named(rules, 'Campaigns')).toMatchObject({ says: 'requests have to name a campaign: summer' });
  expect(rules.map(({ name, campaign }) => [name, campaign])).toEqual([
    ['Campaigns', undefined],
    ['Contracts', undefined],
    ['Deployment of wallets', undefined],
    ['Always', undefined],
    ['All', 'summer'],
    ['Deploy', 'summer'],
  ]);
});

test('what stops everything is said first', async () => {
  const list = addressListOf([user, addressOf(0xb0b)]).list;
  await put({
    suspended: true,
    notReady: { reason: 'FundingNotProven', message: 'No wallet is proven.' },
    invalidPolicies: ['Broken'],
    contracts: [],
    contractsRegistered: false,
  });
  await host.configs.putChain(aChainConfig({ deniedSenders: list.hash }));
  const unknown = await rulesOf();
  expect(named(unknown, "The platform's denied senders")).toMatchObject({ verdict: 'refuse' });
  await host.configs.putList(list);
  const rules = await rulesOf();
  expect(rules.map(({ policyType, says, verdict }) => [policyType, says, verdict])).toEqual([
    ['SUSPENDED', 'the paymaster is suspended', 'refuse'],
    ['NOT_READY', 'No wallet is proven.', 'refuse'],
    ['INVALID_POLICY', 'was never accepted, so nothing passes', 'refuse'],
    ['DENIED_SENDERS', `refuses 2 accounts on chain ${chainId}`, undefined],
    ['CONTRACTS', 'no contract is registered, so every call is refused', undefined],
  ]);
  expect(JSON.stringify(rules).toLowerCase()).not.toContain(user.slice(2));
});
