import { describe, expect, test } from '@jest/globals';
import { formatProblem } from '../../../core/errors.js';
import type { Kind, Resources } from '../../../core/resources/kinds.js';
import { definitions } from '../../../core/resources/schemas.js';
import { validateResource } from '../../../core/resources/validate.js';
import type { CelRule, StructuralSchema } from '../../../core/schema/structural.js';
import {
  aChain,
  aFeeToken,
  aLimit,
  anOrganisation,
  aPaymaster,
  aPolicy,
  aProfile,
  aSmartContract,
} from '../../build/resources.js';

/** A write: the object, and for rules about changes the object before it. */
type Write = { readonly [K in Kind]: { readonly now: Resources[K]; readonly old?: Resources[K] } }[Kind];

/** One rule in both directions: what it lets through and what it stops, and where and how it says so. */
type Case = {
  readonly field: string;
  readonly message: string;
  readonly passes: Write;
  readonly fails: Write;
};

const hash = 'a'.repeat(64);
const wallet = '0x1111111111111111111111111111111111111111';
const other = '0x2222222222222222222222222222222222222222';
const webhook = { url: 'https://rules.example.com/check' };
const feed = { nativeFeed: wallet };
const limit = (overrides: Partial<typeof aLimit>) => aPolicy({ spendingLimit: { ...aLimit, ...overrides } });
const profile = (overrides: Partial<typeof aProfile>) =>
  aChain({ profiles: [{ ...aProfile, ...overrides }] });
const token = (name: string) => ({ name, sha256: hash });

const cases: readonly Case[] = [
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
    message: 'left out until keyGeneration is at least 2: before that there is no previous key',
    passes: { now: aPaymaster({ keyGeneration: 2, previousKeyUntil: '2026-01-01T00:00:00Z' }) },
    fails: { now: aPaymaster({ previousKeyUntil: '2026-01-01T00:00:00Z' }) },
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
      now: aSmartContract({ address: '0xAbCdEf0000000000000000000000000000000001' }),
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
    field: 'spec.tokens',
    message: 'a list in which every token has a name of its own',
    passes: { now: anOrganisation({ tokens: [token('ci'), token('me')] }) },
    fails: { now: anOrganisation({ tokens: [token('ci'), token('me'), token('ci')] }) },
  },

  // Chain
  {
    field: 'spec.rpc',
    message: 'given by exactly one of urls and file',
    passes: { now: aChain({ rpc: { file: 'mainnet' } }) },
    fails: { now: aChain({ rpc: { urls: ['http://127.0.0.1:8545'], file: 'mainnet' } }) },
  },
  {
    field: 'spec.profiles',
    message: 'a list in which every profile has a version of its own',
    passes: { now: aChain({ profiles: [aProfile, { ...aProfile, version: '1.0.0' }] }) },
    fails: { now: aChain({ profiles: [aProfile, aProfile] }) },
  },
  {
    field: 'spec.profiles[0].options',
    message: 'without priceMarkup and unaccountedGas: only the layout vendor-2.x has them',
    passes: { now: profile({ layout: 'vendor-2.x', options: { priceMarkup: 1_100_000 } }) },
    fails: { now: profile({ layout: 'vendor-1.1.0', options: { priceMarkup: 1_100_000 } }) },
  },
  {
    field: 'spec.profiles[0].options',
    message: 'without treasury: only the singleton layouts have it',
    passes: { now: profile({ layout: 'singleton-0.7', options: { treasury: wallet } }) },
    fails: { now: profile({ layout: 'vendor-2.x', options: { treasury: wallet } }) },
  },
  {
    field: 'spec.profiles[0].addresses',
    message: 'without token: the layout verifying-0.7 has no token mode',
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
];

const problemsOf = ({ now, old }: Write) => validateResource(now.kind, now, old);

describe('each rule of each kind', () => {
  test.each(
    cases.map((entry) => ({
      ...entry,
      name: `${entry.fails.now.kind} ${entry.field} must be ${entry.message}`,
    })),
  )('$name', ({ field, message, passes, fails }) => {
    expect(problemsOf(passes).map(formatProblem)).toEqual([]);
    expect(problemsOf(fails).map((problem) => [problem.field, problem.expected])).toEqual([[field, message]]);
  });

  test('stands in the table above, in both directions', () => {
    const untried = Object.values(definitions)
      .flatMap(({ kind, spec }) => rulesOf(spec, 'spec').map((rule) => ({ kind, ...rule })))
      // HYBRID is the only type there is, so no value can break its rule yet.
      .filter(({ field }) => field !== 'spec.type')
      .filter(
        ({ kind, field, message }) =>
          !cases.some(
            (entry) =>
              entry.fails.now.kind === kind &&
              entry.field.replaceAll(/\[\d+\]/g, '[]') === field &&
              `must be ${entry.message}` === message,
          ),
      );
    expect(untried).toEqual([]);
  });
});

describe('rules about changes', () => {
  test('are skipped when an object is created', () => {
    for (const { fails } of cases)
      if (fails.old) expect(problemsOf({ ...fails, now: fails.old } as Write)).toEqual([]);
  });

  test('are skipped where the field was not there before', () => {
    const before = aPaymaster();
    expect(validateResource('Paymaster', aPaymaster({ keyGeneration: 1 }), before)).toEqual([]);
  });
});

test('what was wrong before and stays as it was does not block another change', () => {
  const wrong = { ...aPolicy(), spec: { ...aPolicy().spec, webhook } };
  expect(validateResource('PaymasterPolicy', wrong).map(({ field }) => field)).toEqual(['spec.webhook']);
  const renamed = { ...wrong, spec: { ...wrong.spec, name: 'Other' } };
  expect(validateResource('PaymasterPolicy', renamed, wrong)).toEqual([]);
  const worse = { ...wrong, spec: { ...wrong.spec, walletDeployment: {} } };
  expect(validateResource('PaymasterPolicy', worse, wrong).map(({ field }) => field)).toEqual([
    'spec.walletDeployment',
  ]);
});

/** Every rule of a schema with the field at which it speaks; items of lists as `[]`. */
function rulesOf(schema: StructuralSchema, field: string): { field: string; message: CelRule['message'] }[] {
  return [
    ...(schema['x-kubernetes-validations'] ?? []).map((rule) => ({
      field: `${field}${rule.fieldPath ?? ''}`,
      message: rule.message,
    })),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, child]) => rulesOf(child, `${field}.${name}`)),
    ...(schema.items ? rulesOf(schema.items, `${field}[]`) : []),
  ];
}
