import { beforeAll, describe, expect, test } from '@jest/globals';
import { derivePaymasterId, derivePolicyId } from '../../core/config/ids.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { policyTypes } from '../../core/policy/derived.js';
import { compileAddressList } from '../../core/policy/address-list.js';
import { compileLimits, limitShares } from '../../core/policy/spending-limit/shares.js';
import { toAddressKey } from '../../core/units/address.js';
import type { EpochMs, EpochSeconds } from '../../core/units/time.js';
import { DomainError } from '../../core/errors.js';
import { noCost } from '../../core/usage/unit.js';
import { managePrefix } from '../../server/dashboard/endpoints.js';
import { acmeToken, chainId, otherToken, recordOf, recordsOf } from '../build/dashboard.js';
import { addressOf, aChainConfig, aLimitConfig, aPaymasterConfig } from '../build/configs.js';
import { useDashboard } from '../support/use-dashboard.js';

// Every rule of a paymaster, with what it says now.

const host = useDashboard({ operator: false });
const user = toAddressKey(addressOf(0xa11ce));
const paymasterId = derivePaymasterId('acme', 'shop');
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
  return recordsOf(recordOf(recordOf(JSON.parse(text))['data'])['items']);
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
  const list = compileAddressList([user]).list;
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
  const list = compileAddressList([user, addressOf(0xb0b)]).list;
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

describe('the list of policies', () => {
  type Named = Readonly<Record<string, unknown>>;
  const aLimit = {
    spendingLimit: { scope: 'PAYMASTER', thresholdType: 'NATIVE_ASSET', threshold: '1', never: {} },
  };
  const window = { window: { from: '2026-01-01T00:00:00Z' } };

  /** As many paymasters as names, each with the policies; the host has no operator, so configs are put beside. */
  async function make(paymaster: string, policies: Readonly<Record<string, object>>): Promise<void> {
    const spec = { name: paymaster, chainId, type: 'HYBRID', version: '1.1.0' };
    await create('paymasters', { name: paymaster, spec });
    for (const [name, of] of Object.entries(policies))
      await create('policies', { name, spec: { paymasterRef: { name: paymaster }, name, ...of } });
  }

  async function create(path: string, body: object): Promise<void> {
    const response = await host.fetch(`${managePrefix}/${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${acmeToken}` },
      body: JSON.stringify(body),
    });
    expect({ status: response.status, text: await response.text() }).toMatchObject({ status: 201 });
  }

  async function list(path = 'policies?paymaster=listed', of: Pick<typeof host, 'fetch'> = host) {
    const headers = { Authorization: `Bearer ${acmeToken}` };
    const response = await of.fetch(`${managePrefix}/${path}`, { headers });
    const answer = recordOf(recordOf(await response.json())['data']);
    return 'items' in answer ? recordsOf(answer['items']) : [answer];
  }

  const rulesBy = (policies: readonly Named[]) =>
    Object.fromEntries(policies.map(({ name, rules }) => [name, rules]));

  const idOf = (name: string) => derivePolicyId('acme', name);

  beforeAll(async () => {
    await host.configs.putChain(aChainConfig());
    await make('listed', {
      both: { policyType: 'PAYMASTER_SA_LIMIT', enforcement: 'Shadow', ...aLimit },
      deploy: { policyType: 'WALLET_DEPLOYMENT', walletDeployment: {} },
      'deploy-paused': { policyType: 'WALLET_DEPLOYMENT', walletDeployment: {}, active: false },
      campaign: { policyType: 'WINDOW', campaign: 'summer', ...window },
      broken: { policyType: 'WINDOW', ...window },
      'not-served': { policyType: 'WINDOW', ...window },
    });
    const limit = {
      policyId: idOf('both'),
      name: 'both',
      shadow: true as const,
      thresholdType: 'NATIVE_ASSET' as const,
    };
    await host.configs.putPaymaster(
      aPaymasterConfig({
        paymasterId: derivePaymasterId('acme', 'listed'),
        objectName: 'listed',
        limits: [aLimitConfig({ ...limit, threshold: '1', startMs: start })],
        operationLimits: [{ ...limit, perOperation: '0.01' }],
        windows: [{ policyId: idOf('campaign'), name: 'campaign', campaign: 'summer', until: at(-60) }],
        walletDeployment: true,
        invalidPolicies: ['broken'],
        campaigns: ['summer'],
      }),
    );
  });

  test('shows of each policy the rules of its paymaster that are made of it', async () => {
    const all = await list();
    const own = await rulesOf('listed/rules');
    const says = (...names: readonly string[]) => own.filter(({ name }) => names.includes(String(name)));
    expect(rulesBy(all)).toEqual({
      both: says('both'),
      deploy: says('Deployment of wallets'),
      'deploy-paused': [],
      campaign: says('campaign'),
      broken: says('broken'),
      'not-served': [],
    });
    expect(rulesBy(all)['both']).toEqual([
      expect.objectContaining({ enforcement: 'Shadow', remaining: '1 ether' }),
      expect.objectContaining({ says: 'at most 0.01 ether for each operation' }),
    ]);
    expect(rulesBy(all)['campaign']).toEqual([
      expect.objectContaining({ campaign: 'summer', verdict: 'refuse', says: `ended at ${instantOf(-60)}` }),
    ]);
    expect(rulesBy(all)['broken']).toEqual([
      expect.objectContaining({ policyType: 'INVALID_POLICY', verdict: 'refuse' }),
    ]);
    const [one] = await list('policies/both');
    expect(one?.['rules']).toEqual(rulesBy(all)['both']);
  });

  test('costs one read of the usage store, however many policies and paymasters it shows', async () => {
    await make('listed-too', { 'too-1': { policyType: 'PAYMASTER_SA_LIMIT', ...aLimit } });
    const config = { paymasterId: derivePaymasterId('acme', 'listed-too'), objectName: 'listed-too' };
    const own = { policyId: idOf('too-1'), name: 'too-1', threshold: '7', startMs: start };
    await host.configs.putPaymaster(aPaymasterConfig({ ...config, limits: [aLimitConfig(own)] }));
    const read: number[] = [];
    const counting = await host.beside({
      usage: {
        ...host.usage,
        now: () => host.usage.now(),
        counters(chain, ids) {
          read.push(ids.length);
          return host.usage.counters(chain, ids);
        },
      },
    });
    const all = rulesBy(await list('policies', counting));
    expect(all['too-1']).toEqual([expect.objectContaining({ remaining: '7 operations' })]);
    expect(all['both']).toHaveLength(2);
    expect(read).toEqual([2]);
  });

  test('is there without rules while the database is away', async () => {
    const away = await host.beside({
      usage: {
        ...host.usage,
        now: () => host.usage.now(),
        counters: () => Promise.reject(new DomainError('UNAVAILABLE', 'away')),
      },
    });
    const all = await list('policies?paymaster=listed', away);
    expect(all).toHaveLength(6);
    for (const policy of all) expect(policy).not.toHaveProperty('rules');
  });
});

const instantOf = (seconds: number) => new Date(at(seconds)).toISOString();
