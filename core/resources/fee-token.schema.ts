import type { KindDefinition } from '../schema/crd.js';
import { boolean, integer, list, number, object, type SchemaOf, text } from '../schema/structural.js';
import type { FeeTokenSpec, FeeTokenStatus, PriceSpec } from './fee-token.js';
import { kindNames } from './kinds.js';
import {
  address,
  ageColumn,
  categories,
  chainId,
  conditions,
  httpUrl,
  mountedFile,
  observedGeneration,
  readyColumn,
  reasonColumn,
} from './schema-parts.js';

const maxAgeSeconds = integer('Oldest price that is used, in seconds.', { minimum: 1, maximum: 604_800 });

const fixed = object<NonNullable<PriceSpec['static']>>('A price that never moves.', {
  required: {
    rate: text(
      'Token base units per 10^18 wei, as decimal text.',
      {
        minLength: 1,
        maxLength: 79,
        pattern: '^(0|[1-9][0-9]{0,59})(\\.[0-9]{1,18})?$',
        expected: 'a positive rate as decimal text in quotes, e.g. "2500000000"',
      },
      { rule: "self.matches('[1-9]')", message: 'must be more than zero: a price of nothing gives gas away' },
    ),
  },
  optional: {},
});

const chainlink = object<NonNullable<PriceSpec['chainlink']>>('Price feeds on the same chain.', {
  required: { nativeFeed: address('Feed of the native coin.') },
  optional: {
    tokenFeed: address('Feed of the token. Absent: nativeFeed quotes the token itself.'),
    inverse: boolean('True when nativeFeed quotes native coins per token.'),
    maxAgeSeconds,
  },
});

const http = object<NonNullable<PriceSpec['http']>>('A price from a JSON document.', {
  required: {
    url: httpUrl('Address of the document.'),
    path: text('Where the rate stands in it, e.g. data.rate.', { minLength: 1, maxLength: 256 }),
  },
  optional: {
    headersFile: mountedFile('Mounted file with one header per line, for services that want a key.'),
    maxAgeSeconds,
  },
});

const single = object<Omit<PriceSpec, 'combine'>>(
  'One source: exactly one of static, chainlink and http.',
  { required: {}, optional: { static: fixed, chainlink, http } },
  {
    rule: '[has(self.static), has(self.chainlink), has(self.http)].filter(one, one).size() == 1',
    message: 'must be given by exactly one of static, chainlink and http',
  },
);

const price: SchemaOf<PriceSpec> = object<PriceSpec>(
  'Where the price comes from: exactly one of static, chainlink, http and combine.',
  {
    required: {},
    optional: {
      static: fixed,
      chainlink,
      http,
      combine: object<NonNullable<PriceSpec['combine']>>('The median of several sources that agree.', {
        required: { sources: list('The sources.', single, { minItems: 1, maxItems: 8 }) },
        optional: {
          maxAgeSeconds,
          maxDeviationPercent: number('Sources that differ by more than this are not trusted.', {
            minimum: 0,
            maximum: 100,
          }),
        },
      }),
    },
  },
  {
    rule: '[has(self.static), has(self.chainlink), has(self.http), has(self.combine)].filter(one, one).size() == 1',
    message: 'must be given by exactly one of static, chainlink, http and combine',
  },
);

const spec = object<FeeTokenSpec>('What the platform accepts.', {
  required: {
    chainId: chainId('Chain of the token.'),
    address: address('Address of the token.'),
    symbol: text('Symbol, e.g. USDC.', { minLength: 1, maxLength: 32 }),
    decimals: integer('Decimals of the token.', { minimum: 0, maximum: 36 }),
    price,
  },
  optional: {
    premiumPercentage: text('Premium on top of the gas cost in percent. Default "0".', {
      minLength: 1,
      maxLength: 8,
      pattern: '^(100(\\.0{1,4})?|(0|[1-9][0-9]?)(\\.[0-9]{1,4})?)$',
      expected: 'a percentage from 0 to 100 as text in quotes, e.g. "12" or "7.5", with at most 4 decimals',
    }),
    logoUrl: httpUrl('Picture of the token for wallets.'),
  },
});

const status = object<FeeTokenStatus>('What the operator found.', {
  required: {},
  optional: { observedGeneration, conditions },
});

export const feeTokenDefinition = {
  kind: 'FeeToken',
  ...kindNames.FeeToken,
  categories,
  description: 'An ERC-20 token in which users may pay for gas.',
  spec,
  status,
  printerColumns: [
    readyColumn,
    reasonColumn,
    { name: 'Chain', type: 'integer', jsonPath: '.spec.chainId', description: 'Chain id.' },
    { name: 'Symbol', type: 'string', jsonPath: '.spec.symbol', description: 'Symbol of the token.' },
    { name: 'Address', type: 'string', jsonPath: '.spec.address', description: 'Address.', priority: 1 },
    {
      name: 'Premium',
      type: 'string',
      jsonPath: '.spec.premiumPercentage',
      description: 'Percent.',
      priority: 1,
    },
    ageColumn,
  ],
  selectableFields: ['spec.address', 'spec.chainId'],
} as const satisfies KindDefinition;
