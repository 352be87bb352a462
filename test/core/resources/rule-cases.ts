import type { Budget } from '../../../core/policy/budget.js';
import type { SpendingLimitSpec } from '../../../core/policy/spending-limit/schema.js';
import type { PriceSpec } from '../../../core/pricing/fee-token-spec.js';
import type { WebhookSpec } from '../../../core/policy/webhook/schema.js';
import type { Kind, Resources } from '../../../core/resources/kinds.js';
import {
  aChain,
  aFeeToken,
  aLimit,
  anOrganisation,
  aDashboardToken,
  aPaymaster,
  aPolicy,
  aProfile,
  aSmartContract,
} from '../../build/resources.js';

/** A write: the object, and for rules about changes the object before it. */
export type Write = {
  readonly [K in Kind]: { readonly now: Resources[K]; readonly old?: Resources[K] };
}[Kind];

/** One rule in both directions: an object that passes and one that fails, with the field and message of the failure. */
export type RuleCase = {
  readonly field: string;
  readonly message: string;
  readonly passes: Write;
  readonly fails: Write;
};

const hash = 'a'.repeat(64);
const wallet = '0x1111111111111111111111111111111111111111';
const other = '0x2222222222222222222222222222222222222222';
const openZeppelin = { domainName: 'MyPaymasterECDSASigner', domainVersion: '1' };
const webhook = { url: 'https://rules.example.com/check' };
const document = { url: 'https://prices.example.com/{symbol}', path: 'eth' };
const feed = { nativeFeed: wallet };
const aWebhook = (overrides: Partial<WebhookSpec>) =>
  aPolicy({ policyType: 'WEBHOOK', webhook: { ...webhook, ...overrides } });
const limit = (overrides: Partial<SpendingLimitSpec>) =>
  aPolicy({ spendingLimit: { ...aLimit, ...overrides } });
const endless = (overrides: Partial<SpendingLimitSpec>) => {
  const { cycleDuration: _, ...rest } = aLimit;
  return aPolicy({ spendingLimit: { ...rest, never: {}, ...overrides } });
};
const perOperation = (overrides: Partial<SpendingLimitSpec>) =>
  aPolicy({
    spendingLimit: { scope: 'PAYMASTER', thresholdType: 'USD', perOperation: '0.5', ...overrides },
  });
const profile = (overrides: Partial<typeof aProfile>) =>
  aChain({ profiles: [{ ...aProfile, ...overrides }] });
const token = (name: string) => ({ name, sha256: hash });
const run = (shape: 'call' | 'call-struct') => [{ signature: 'run((address,uint256,bytes))', shape }];
const misfit =
  'a function whose arguments fit the shape, e.g. execFromEntryPoint(address,uint256,bytes) for call';

const until = '2027-01-01T00:00:00Z';
const aBudget = (more: Partial<Budget> = {}): Budget => ({
  name: 'all',
  chain: 1,
  usd: '5',
  never: {},
  ...more,
});
const aDaily = (value: number): Budget => ({
  name: 'all',
  chain: 1,
  usd: '5',
  cycleDuration: { value, unit: 'day' },
});

/** Names of campaigns, whose pattern both kinds of stores check. */
export const campaignNames = {
  good: ['winter-2026', 'a', '0.x_Y-', 'a'.repeat(64)],
  bad: ['', 'a'.repeat(65), 'winter 2026', 'winter/2026', 'wïnter', 'winter\n'],
  of: (campaign: string): Resources['PaymasterPolicy'] => aPolicy({ campaign }),
};

const opsTold = { name: 'ops', url: 'https://ops.example.org/events' };

export const ruleCases: readonly RuleCase[] = [
  // Paymaster
  {
    field: 'spec.name',
    message: 'left as it was: delete this Paymaster and create another',
    passes: { now: aPaymaster({ name: 'Shop' }), old: aPaymaster({ name: 'Shop' }) },
    fails: { now: aPaymaster({ name: 'Store' }), old: aPaymaster({ name: 'Shop' }) },
  },
  {
    field: 'spec.chainId',
    message: 'left as it was: delete this Paymaster and create another',
    passes: { now: aPaymaster({ chainId: 1 }), old: aPaymaster({ chainId: 1 }) },
    fails: { now: aPaymaster({ chainId: 1 }), old: aPaymaster({ chainId: 10 }) },
  },
  {
    field: 'spec.version',
    message: 'left as it was: delete this Paymaster and create another',
    passes: { now: aPaymaster({ version: '2.0.0' }), old: aPaymaster({ version: '2.0.0' }) },
    fails: { now: aPaymaster({ version: '2.0.0' }), old: aPaymaster({ version: '1.1.0' }) },
  },
  {
    field: 'spec.funding',
    message: 'given with both message and signature, or with neither when the Organisation lists the address',
    passes: {
      now: aPaymaster({ funding: { address: wallet, message: 'fund', signature: `0x${'ab'.repeat(65)}` } }),
    },
    fails: { now: aPaymaster({ funding: { address: wallet, message: 'fund' } }) },
  },
  {
    field: 'spec.keyGeneration',
    message: 'the same or higher than before: a lower one would bring a rotated apiKey back',
    passes: { now: aPaymaster({ keyGeneration: 3 }), old: aPaymaster({ keyGeneration: 2 }) },
    fails: { now: aPaymaster(), old: aPaymaster({ keyGeneration: 2 }) },
  },
  {
    field: 'spec.previousKeyUntil',
    message: 'left out until keyGeneration is at least 2: the first key has no previous one',
    passes: { now: aPaymaster({ keyGeneration: 2, previousKeyUntil: '2026-01-01T00:00:00Z' }) },
    fails: { now: aPaymaster({ previousKeyUntil: '2026-01-01T00:00:00Z' }) },
  },

  {
    field: 'spec.keys',
    message: 'a list in which no two keys have the same name',
    passes: { now: aPaymaster({ keys: [{ name: 'web' }, { name: 'Web' }] }) },
    fails: { now: aPaymaster({ keys: [{ name: 'web' }, { name: 'web', generation: 2 }] }) },
  },

  // Organisation
  {
    field: 'spec.tenantGeneration',
    message: 'the same or higher than before: a lower one would bring a former tenant back',
    passes: { now: anOrganisation({ tenantGeneration: 3 }), old: anOrganisation({ tenantGeneration: 2 }) },
    fails: { now: anOrganisation(), old: anOrganisation({ tenantGeneration: 2 }) },
  },

  // DashboardToken
  {
    field: 'spec.sha256',
    message: 'left as it was: delete this DashboardToken and create another',
    passes: { now: aDashboardToken(), old: aDashboardToken() },
    fails: { now: aDashboardToken('cd'), old: aDashboardToken() },
  },

  // SmartContract
  {
    field: 'spec.paymasterRef',
    message: 'left as it was: delete this object and create another',
    passes: { now: aSmartContract(), old: aSmartContract() },
    fails: { now: aSmartContract({ paymasterRef: { name: 'game' } }), old: aSmartContract() },
  },
  {
    field: 'spec.address',
    message: 'left as it was: delete this SmartContract and create another',
    passes: {
      now: aSmartContract({ address: '0xABCDEF0000000000000000000000000000000001' }),
      old: aSmartContract({ address: '0xabcdef0000000000000000000000000000000001' }),
    },
    fails: { now: aSmartContract({ address: wallet }), old: aSmartContract({ address: other }) },
  },

  // PaymasterPolicy
  {
    field: 'spec.paymasterRef',
    message: 'left as it was: delete this object and create another',
    passes: { now: aPolicy(), old: aPolicy() },
    fails: { now: aPolicy({ paymasterRef: { name: 'game' } }), old: aPolicy() },
  },
  {
    field: 'spec.policyType',
    message: 'left as it was: delete this PaymasterPolicy and create another',
    passes: {
      now: aPolicy({ policyType: 'WEBHOOK', webhook }),
      old: aPolicy({ policyType: 'WEBHOOK', webhook }),
    },
    fails: { now: aPolicy({ policyType: 'WEBHOOK', webhook }), old: aPolicy() },
  },
  {
    field: 'spec.spendingLimit.scope',
    message: 'left as it was: delete this PaymasterPolicy and create another',
    passes: { now: limit({ threshold: '20' }), old: limit({ threshold: '10' }) },
    fails: { now: limit({ scope: 'SMART_ACCOUNT' }), old: limit({ scope: 'PAYMASTER' }) },
  },
  {
    field: 'spec.spendingLimit',
    message: 'set when policyType is PAYMASTER_SA_LIMIT, and left out otherwise',
    passes: { now: aPolicy() },
    fails: { now: aPolicy({ policyType: 'WEBHOOK', webhook, spendingLimit: aLimit }) },
  },
  {
    field: 'spec.webhook',
    message: 'set when policyType is WEBHOOK, and left out otherwise',
    passes: { now: aPolicy({ policyType: 'WEBHOOK', webhook }) },
    fails: { now: aPolicy({ policyType: 'WEBHOOK' }) },
  },
  {
    field: 'spec.walletDeployment',
    message: 'set when policyType is WALLET_DEPLOYMENT, and left out otherwise',
    passes: { now: aPolicy({ policyType: 'WALLET_DEPLOYMENT', walletDeployment: {} }) },
    fails: { now: aPolicy({ policyType: 'WALLET_DEPLOYMENT' }) },
  },
  {
    field: 'spec.window',
    message: 'set when policyType is WINDOW, and left out otherwise',
    passes: { now: aPolicy({ policyType: 'WINDOW', window: { until } }) },
    fails: { now: aPolicy({ policyType: 'WINDOW' }) },
  },
  {
    field: 'spec.enforcement',
    message: 'left out for policyType WALLET_DEPLOYMENT, which is a permission',
    passes: { now: aPolicy({ enforcement: 'Shadow' }) },
    fails: {
      now: aPolicy({ policyType: 'WALLET_DEPLOYMENT', walletDeployment: {}, enforcement: 'Shadow' }),
    },
  },
  {
    field: 'spec.expression',
    message: 'set when policyType is EXPRESSION, and left out otherwise',
    passes: { now: aPolicy({ policyType: 'EXPRESSION', expression: { text: 'chain == 1' } }) },
    fails: { now: aPolicy({ policyType: 'EXPRESSION' }) },
  },
  {
    field: 'spec.senders',
    message: 'set when policyType is SENDERS, and left out otherwise',
    passes: { now: aPolicy({ policyType: 'SENDERS', senders: { action: 'Allow', addresses: [] } }) },
    fails: { now: aPolicy({ policyType: 'SENDERS' }) },
  },
  {
    field: 'spec.window',
    message: 'given from, until, or both',
    passes: { now: aPolicy({ policyType: 'WINDOW', window: { until } }) },
    fails: { now: aPolicy({ policyType: 'WINDOW', window: { appliesTo: ['ERC20'] } }) },
  },
  {
    field: 'spec.spendingLimit',
    message: 'given threshold, perOperation, or both',
    passes: { now: perOperation({}) },
    fails: { now: aPolicy({ spendingLimit: { scope: 'PAYMASTER', thresholdType: 'USD' } }) },
  },
  {
    field: 'spec.spendingLimit',
    message: 'left without cycleDuration, calendar, never and restartedAt where threshold is left out',
    passes: { now: limit({ thresholdType: 'USD', perOperation: '0.5' }) },
    fails: { now: perOperation({ never: {} }) },
  },
  {
    field: 'spec.spendingLimit.perOperation',
    message: 'left out when thresholdType is COUNT, in which every operation is one',
    passes: { now: limit({ thresholdType: 'NATIVE_ASSET', perOperation: '0.000000001' }) },
    fails: { now: limit({ perOperation: '1' }) },
  },
  {
    field: 'spec.spendingLimit.perOperation',
    message: 'at most 9 digits before and 6 after the point when thresholdType is USD',
    passes: { now: perOperation({ perOperation: '0.000001' }) },
    fails: { now: perOperation({ perOperation: '0.0000001' }) },
  },
  {
    field: 'spec.spendingLimit',
    message: 'given by exactly one of cycleDuration, calendar and never',
    passes: { now: endless({}) },
    fails: { now: limit({ never: {} }) },
  },
  {
    field: 'spec.spendingLimit.startTime',
    message: 'left out without cycleDuration; use restartedAt',
    passes: { now: limit({ startTime: until }) },
    fails: { now: endless({ startTime: until }) },
  },
  {
    field: 'spec.spendingLimit.restartedAt',
    message: 'left out with cycleDuration; use startTime',
    passes: { now: endless({ restartedAt: until }) },
    fails: { now: limit({ restartedAt: until }) },
  },
  {
    field: 'spec.spendingLimit.assumeUsed',
    message: 'left out without never',
    passes: { now: endless({ assumeUsed: '5' }) },
    fails: { now: limit({ assumeUsed: '5' }) },
  },
  {
    field: 'spec.spendingLimit.threshold',
    message: 'at most 9 digits before and 6 after the point when thresholdType is USD',
    passes: { now: limit({ threshold: '999999999.999999', thresholdType: 'USD' }) },
    fails: { now: limit({ threshold: '0.0000001', thresholdType: 'USD' }) },
  },
  {
    field: 'spec.spendingLimit.cycleDuration.value',
    message: 'at most one year: 365 days or 8760 hours',
    passes: { now: limit({ cycleDuration: { value: 366, unit: 'hour' } }) },
    fails: { now: limit({ cycleDuration: { value: 366, unit: 'day' } }) },
  },
  {
    field: 'spec.spendingLimit.threshold',
    message: 'a whole number when thresholdType is COUNT; use NATIVE_ASSET for amounts of ether',
    passes: { now: limit({ threshold: '0.5', thresholdType: 'NATIVE_ASSET' }) },
    fails: { now: limit({ threshold: '0.5', thresholdType: 'COUNT' }) },
  },

  // Organisation
  {
    field: 'spec.notifications',
    message: 'a list in which no two notifications have the same name',
    passes: { now: anOrganisation({ notifications: [opsTold, { ...opsTold, name: 'other' }] }) },
    fails: { now: anOrganisation({ notifications: [opsTold, opsTold] }) },
  },
  {
    field: 'spec.notifications[0]',
    message: 'given by exactly one of url and urlFile',
    passes: { now: anOrganisation({ notifications: [opsTold] }) },
    fails: { now: anOrganisation({ notifications: [{ ...opsTold, urlFile: 'ops' }] }) },
  },
  {
    field: 'spec.notifications[0]',
    message: 'given by urlFile where format is Slack: anyone who has the URL can post there',
    passes: { now: anOrganisation({ notifications: [{ name: 'ops', urlFile: 'ops', format: 'Slack' }] }) },
    fails: { now: anOrganisation({ notifications: [{ ...opsTold, format: 'Slack' }] }) },
  },
  {
    field: 'spec.budgets',
    message: 'a list in which no two budgets have the same name',
    passes: { now: anOrganisation({ budgets: [aBudget(), aBudget({ name: 'other' })] }) },
    fails: { now: anOrganisation({ budgets: [aBudget(), aBudget({ chain: 8453 })] }) },
  },
  {
    field: 'spec.budgets[0]',
    message: 'given by exactly one of cycleDuration, calendar and never',
    passes: { now: anOrganisation({ budgets: [aBudget()] }) },
    fails: {
      now: anOrganisation({ budgets: [aBudget({ calendar: { every: 'month', timeZone: 'UTC' } })] }),
    },
  },
  {
    field: 'spec.budgets[0].assumeUsed',
    message: 'left out without never and restartedAt',
    passes: {
      now: anOrganisation({ budgets: [aBudget({ assumeUsed: '1', restartedAt: '2026-01-01T00:00:00Z' })] }),
    },
    fails: { now: anOrganisation({ budgets: [aBudget({ assumeUsed: '1' })] }) },
  },
  {
    field: 'spec.budgets[0].cycleDuration.value',
    message: 'at most one year: 365 days or 8760 hours',
    passes: { now: anOrganisation({ budgets: [aDaily(365)] }) },
    fails: { now: anOrganisation({ budgets: [aDaily(366)] }) },
  },
  {
    field: 'spec.tokens',
    message: 'a list in which no two tokens have the same name',
    passes: { now: anOrganisation({ tokens: [token('ci'), token('me')] }) },
    fails: { now: anOrganisation({ tokens: [token('ci'), token('me'), token('ci')] }) },
  },

  // Chain
  {
    field: 'spec.rpc',
    message: 'given by exactly one of urls and file',
    passes: { now: aChain({ rpc: { file: 'mainnet' } }) },
    fails: { now: aChain({ rpc: { urls: ['http://127.0.0.1:1'], file: 'mainnet' } }) },
  },
  {
    field: 'spec.bundlers',
    message: 'given by exactly one of urls and file',
    passes: { now: aChain({ bundlers: { urls: ['https://bundler.example.org'] } }) },
    fails: { now: aChain({ bundlers: {} }) },
  },
  {
    field: 'spec.accountFunctions[0].signature',
    message: misfit,
    passes: { now: aPaymaster({ accountFunctions: run('call-struct') }) },
    fails: { now: aPaymaster({ accountFunctions: run('call') }) },
  },
  {
    field: 'spec.accountFunctions[0].signature',
    message: misfit,
    passes: { now: aChain({ accountFunctions: run('call-struct') }) },
    fails: { now: aChain({ accountFunctions: run('call') }) },
  },
  {
    field: 'spec.dataFee',
    message: 'with factor where kind is Factor, and without it elsewhere',
    passes: { now: aChain({ dataFee: { kind: 'Factor', factor: '2.5' } }) },
    fails: { now: aChain({ dataFee: { kind: 'OpStack', factor: '2.5' } }) },
  },
  {
    field: 'spec.dataFee',
    message: 'of another kind than Bundler without bundlers, which are asked for the fee',
    passes: {
      now: aChain({ bundlers: { urls: ['https://bundler.example.org'] }, dataFee: { kind: 'Bundler' } }),
    },
    fails: { now: aChain({ dataFee: { kind: 'Bundler' } }) },
  },
  {
    field: 'spec.minPriorityFeePerGas',
    message: 'at most gas.maxPriorityFeePerGas: no tip would be both low and high enough',
    passes: { now: aChain({ minPriorityFeePerGas: '30', gas: { maxPriorityFeePerGas: '30' } }) },
    // A text of digits is compared as a number.
    fails: { now: aChain({ minPriorityFeePerGas: '30', gas: { maxPriorityFeePerGas: '4' } }) },
  },
  {
    field: 'spec.nativePrice',
    message: 'given by exactly one of static, chainlink, http and combine',
    passes: { now: aChain({ nativePrice: { static: { usdPerNative: '3000' } } }) },
    fails: {
      now: aChain({ nativePrice: { static: { usdPerNative: '1' }, chainlink: feed } }),
    },
  },
  {
    field: 'spec.nativePrice.combine.sources[0]',
    message: 'given by exactly one of static, chainlink and http',
    passes: { now: aChain({ nativePrice: { combine: { sources: [{ chainlink: feed }] } } }) },
    fails: { now: aChain({ nativePrice: { combine: { sources: [{}] } } }) },
  },
  {
    field: 'spec.nativePrice.combine.sources[0].static.usdPerNative',
    message: 'more than zero',
    passes: {
      now: aChain({ nativePrice: { combine: { sources: [{ static: { usdPerNative: '0.1' } }] } } }),
    },
    fails: { now: aChain({ nativePrice: { combine: { sources: [{ static: { usdPerNative: '0' } }] } } }) },
  },
  {
    field: 'spec.nativePrice.combine.minSources',
    message: 'as many as there are sources, or fewer',
    passes: {
      now: aChain({
        nativePrice: { combine: { minSources: 1, sources: [{ chainlink: feed }] } },
      }),
    },
    fails: {
      now: aChain({
        nativePrice: { combine: { minSources: 2, sources: [{ chainlink: feed }] } },
      }),
    },
  },
  {
    field: 'spec.profiles',
    message: 'a list in which no two profiles have the same version',
    passes: { now: aChain({ profiles: [aProfile, { ...aProfile, version: '1.0.0' }] }) },
    fails: { now: aChain({ profiles: [aProfile, aProfile] }) },
  },
  {
    field: 'spec.profiles[0].options',
    message: 'without priceMarkup: only the layouts vendor-2.x and hybrid-0.9 have it',
    passes: { now: profile({ layout: 'hybrid-0.9', options: { priceMarkup: 1_100_000 } }) },
    fails: { now: profile({ layout: 'vendor-1.1.0', options: { priceMarkup: 1_100_000 } }) },
  },
  {
    field: 'spec.profiles[0].options',
    message: 'without unaccountedGas: only the layout vendor-2.x has it',
    passes: { now: profile({ layout: 'vendor-2.x', options: { unaccountedGas: 10_000 } }) },
    fails: { now: profile({ layout: 'hybrid-0.9', options: { unaccountedGas: 10_000 } }) },
  },
  {
    field: 'spec.profiles[0].options',
    message: 'with openZeppelin for the openzeppelin layouts, and without it for any other',
    passes: { now: profile({ layout: 'openzeppelin-0.8', options: { openZeppelin } }) },
    fails: { now: profile({ layout: 'openzeppelin-0.8' }) },
  },
  {
    field: 'spec.profiles[0].options',
    message: 'with openZeppelin for the openzeppelin layouts, and without it for any other',
    passes: { now: profile({ layout: 'openzeppelin-0.7', options: { openZeppelin } }) },
    fails: { now: profile({ layout: 'verifying-0.7', options: { openZeppelin } }) },
  },
  {
    field: 'spec.profiles[0].options',
    message: 'without readsPaymasterSignature: EntryPoint 0.9 is the first with a signature of the paymaster',
    passes: {
      now: profile({
        layout: 'openzeppelin-0.9',
        options: { openZeppelin: { ...openZeppelin, readsPaymasterSignature: true } },
      }),
    },
    fails: {
      now: profile({
        layout: 'openzeppelin-0.8',
        options: { openZeppelin: { ...openZeppelin, readsPaymasterSignature: true } },
      }),
    },
  },
  {
    field: 'spec.profiles[0].options',
    message: 'without treasury: only the singleton layouts have it',
    passes: { now: profile({ layout: 'singleton-0.7', options: { treasury: wallet } }) },
    fails: { now: profile({ layout: 'vendor-2.x', options: { treasury: wallet } }) },
  },
  {
    field: 'spec.profiles[0]',
    message: 'a profile with exactly one of signer and signers',
    passes: { now: profile({}) },
    fails: { now: profile({ signers: [{ file: 'next.key' }] }) },
  },
  {
    field: 'spec.profiles[0].tokenLossBudget',
    message: 'left out without addresses.token: nothing is paid in tokens',
    passes: { now: profile({ addresses: { sponsorship: wallet, token: other }, tokenLossBudget: '0.5' }) },
    fails: { now: profile({ tokenLossBudget: '0.5' }) },
  },
  {
    field: 'spec.profiles[0].requireAllowance',
    message: 'left out without addresses.token: mode ERC20 needs it',
    passes: { now: profile({ addresses: { sponsorship: wallet, token: other }, requireAllowance: true }) },
    fails: { now: profile({ requireAllowance: true }) },
  },
  {
    field: 'spec.profiles[0].tokenPayment',
    message: 'postOp or left out: only the singleton layouts take tokens in advance so',
    passes: { now: profile({ layout: 'singleton-0.7', tokenPayment: 'preFund' }) },
    fails: { now: profile({ layout: 'vendor-2.x', tokenPayment: 'preFund' }) },
  },
  {
    field: 'spec.profiles[0].addresses',
    message: 'without token: the verifying and openzeppelin layouts have no token mode',
    passes: { now: profile({ layout: 'verifying-0.7', addresses: { sponsorship: wallet } }) },
    fails: { now: profile({ layout: 'verifying-0.7', addresses: { sponsorship: wallet, token: other } }) },
  },

  // FeeToken
  {
    field: 'spec.price.static.rate',
    message: 'more than zero: a price of nothing gives gas away',
    passes: { now: aFeeToken({ price: { static: { rate: '0.001' } } }) },
    fails: { now: aFeeToken({ price: { static: { rate: '0.000' } } }) },
  },
  {
    field: 'spec.price.static.usdPerNative',
    message: 'more than zero',
    passes: { now: aFeeToken({ price: { static: { rate: '1', usdPerNative: '0.5' } } }) },
    fails: { now: aFeeToken({ price: { static: { rate: '1', usdPerNative: '0.0' } } }) },
  },
  {
    field: 'spec.price.chainlink',
    message: 'without inverse when tokenFeed is given',
    passes: { now: aFeeToken({ price: { chainlink: { ...feed, inverse: true } } }) },
    fails: { now: aFeeToken({ price: { chainlink: { ...feed, inverse: true, tokenFeed: other } } }) },
  },
  {
    field: 'spec.price.http',
    message: 'without inverse when tokenPath is given',
    passes: { now: aFeeToken({ price: { http: { ...document, inverse: true } } }) },
    fails: { now: aFeeToken({ price: { http: { ...document, inverse: true, tokenPath: 'usdc' } } }) },
  },
  {
    field: 'spec.price.combine.minSources',
    message: 'as many as there are sources, or fewer',
    passes: {
      now: aFeeToken({ price: { combine: { sources: [{ static: { rate: '1' } }], minSources: 1 } } }),
    },
    fails: {
      now: aFeeToken({ price: { combine: { sources: [{ static: { rate: '1' } }], minSources: 2 } } }),
    },
  },
  {
    field: 'spec.price',
    message: 'given by exactly one of static, chainlink, http and combine',
    passes: { now: aFeeToken({ price: { chainlink: feed } }) },
    fails: { now: aFeeToken({ price: { static: { rate: '1' }, chainlink: feed } }) },
  },
  {
    field: 'spec.price.combine.sources[1].static.rate',
    message: 'more than zero: a price of nothing gives gas away',
    passes: { now: aFeeToken({ price: { combine: { sources: [{ static: { rate: '1' } }] } } }) },
    fails: {
      now: aFeeToken({ price: { combine: { sources: [{ chainlink: feed }, { static: { rate: '0' } }] } } }),
    },
  },
  {
    field: 'spec.price.combine.sources[1]',
    message: 'given by exactly one of static, chainlink and http',
    passes: {
      now: aFeeToken({ price: { combine: { sources: [{ chainlink: feed }, { static: { rate: '1' } }] } } }),
    },
    fails: { now: aFeeToken({ price: { combine: { sources: [{ chainlink: feed }, {}] } } }) },
  },
  {
    field: 'spec.price.combine.sources[0].static.usdPerNative',
    message: 'more than zero',
    passes: { now: combined({ static: { rate: '1', usdPerNative: '0.5' } }) },
    fails: { now: combined({ static: { rate: '1', usdPerNative: '0.0' } }) },
  },
  {
    field: 'spec.price.combine.sources[0].chainlink',
    message: 'without inverse when tokenFeed is given',
    passes: { now: combined({ chainlink: { ...feed, inverse: true } }) },
    fails: { now: combined({ chainlink: { ...feed, inverse: true, tokenFeed: other } }) },
  },
  {
    field: 'spec.price.combine.sources[0].http',
    message: 'without inverse when tokenPath is given',
    passes: { now: combined({ http: { ...document, inverse: true } }) },
    fails: { now: combined({ http: { ...document, inverse: true, tokenPath: 'usdc' } }) },
  },
  {
    field: 'spec.webhook.keyGeneration',
    message: 'the same or higher than before: a lower one would bring a rotated key back',
    passes: { now: aWebhook({ keyGeneration: 3 }), old: aWebhook({ keyGeneration: 2 }) },
    fails: { now: aWebhook({}), old: aWebhook({ keyGeneration: 2 }) },
  },
  {
    field: 'spec.webhook.previousKeyUntil',
    message: 'left out until keyGeneration is at least 2: the first key has no previous one',
    passes: { now: aWebhook({ keyGeneration: 2, previousKeyUntil: '2026-01-01T00:00:00Z' }) },
    fails: { now: aWebhook({ previousKeyUntil: '2026-01-01T00:00:00Z' }) },
  },
];

function combined(source: Omit<PriceSpec, 'combine'>) {
  return aFeeToken({ price: { combine: { sources: [source] } } });
}
