import {
  boolean,
  type CelRule,
  integer,
  list,
  number,
  object,
  type SchemaOf,
  text,
  type Infer,
} from '../schema/structural.js';
import { address, chainId, exactlyOneOf, httpUrl, instant, mountedFile } from '../meta/schema-parts.js';

/** Bounds on what is accepted of a source; `floor` in its unit. */
export const priceBounds = (floor: SchemaOf<string>) => ({
  maxFallPercent: integer(
    'How far a price may fall below the last accepted one, in percent, e.g. 30. Default 50. For each of the first three hours without an accepted price it may fall by as much again. A lower price is refused, and later ones are not compared with it. 100 accepts every price.',
    { minimum: 1, maximum: 100 },
  ),
  floor,
  acceptedAt: instant(
    'A person confirms a real fall, e.g. "2027-03-12T14:30:00Z": prices that were accepted before that time no longer count, and the next price is accepted. A time in the future has no effect until then.',
  ),
});

export const maxAgeSeconds = (description: string) => integer(description, { minimum: 1, maximum: 604_800 });

/** Bounds of an amount of US dollars. */
export const dollars = (expected: string) => ({
  minLength: 1,
  maxLength: 31,
  pattern: '^(0|[1-9][0-9]{0,11})(\\.[0-9]{1,18})?$',
  expected,
});

const fixed = object('A price that never moves.', {
  required: {
    rate: text(
      'Token base units per 10^18 wei, as decimal text, e.g. "3000000000": 3,000 tokens of 6 decimals for a coin.',
      {
        minLength: 1,
        maxLength: 56,
        pattern: '^(0|[1-9][0-9]{0,36})(\\.[0-9]{1,18})?$',
        expected: 'a positive rate as decimal text in quotes, e.g. "2500000000"',
      },
      { rule: "self.matches('[1-9]')", message: 'must be more than zero: a price of nothing gives gas away' },
    ),
  },
  optional: {
    usdPerNative: text(
      'US dollars per native coin as decimal text, e.g. "3123.45"; quotes then show maxGasFeeUSD. Without any source on the chain that knows dollars quotes leave it out.',
      dollars('a positive amount of dollars as decimal text in quotes, e.g. "3123.45"'),
      { rule: "self.matches('[1-9]')", message: 'must be more than zero' },
    ),
  },
});

export const sequencerFeed = address(
  'On a roll-up: the feed that says whether its sequencer is up, e.g. 0xBCF85224fc0756B9Fa45aA7892530B47e10b6433 (Base). While it is down, and for an hour afterwards, the price is missing.',
);

const chainlink = object(
  'Price feeds on the same chain (AggregatorV3Interface).',
  {
    required: {
      nativeFeed: address(
        "Feed of the native coin's price, e.g. 0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419 (ETH / USD on Ethereum): in tokens, or with tokenFeed in its currency.",
      ),
    },
    optional: {
      sequencerFeed,
      tokenFeed: address(
        "Feed of the token's price, in the currency of nativeFeed, e.g. 0x8fFfFfd4AfB6115b954Bd326cbe7B4BA576818f6 (USDC / USD on Ethereum). Absent: nativeFeed quotes the token itself.",
      ),
      inverse: boolean('True when nativeFeed quotes native coins per token.'),
      maxAgeSeconds: maxAgeSeconds(
        "Oldest answer of nativeFeed that is used, in seconds: a little more than the feed's heartbeat. Default 7200.",
      ),
      tokenMaxAgeSeconds: maxAgeSeconds(
        'The same for tokenFeed. Default 90000: feeds of stable coins move once a day.',
      ),
    },
  },
  notInverseRatio('tokenFeed'),
);

export const documentPath = (description: string) =>
  text(description, {
    minLength: 1,
    maxLength: 256,
    pattern: '^([^.\\[\\]]+|\\[[0-9]{1,4}\\])(\\.[^.\\[\\]]+|\\[[0-9]{1,4}\\])*$',
    expected: 'names joined by ".", and places in lists such as [0], e.g. data.prices[0].value',
  });

export const timePath = documentPath(
  'Where the time of the price stands, e.g. data.updatedAt, in Unix seconds or milliseconds or as RFC 3339. Absent: the time of the answer.',
);

const http = object(
  'A price from a JSON document. {chainId}, {address} (in lowercase) and {symbol} in the URL and the paths stand for those of the token.',
  {
    required: {
      url: httpUrl('Address of the document, e.g. https://prices.example.org/v1/{chainId}/{address}.', {
        confidential: true,
      }),
      path: documentPath(
        "Where the price stands in it: whole tokens per native coin, or with tokenPath the native coin's price. E.g. data.rate.",
      ),
    },
    optional: {
      tokenPath: documentPath(
        "Where the token's price stands, in the same currency as the one of path, e.g. data.token.usd.",
      ),
      inverse: boolean('True when path is native coins per token.'),
      usdPath: documentPath(
        "Where the native coin's price in US dollars stands, e.g. data.eth.usd; quotes then show maxGasFeeUSD. Without any source on the chain that knows dollars quotes leave it out.",
      ),
      timePath,
      headersFile: mountedFile(
        'Mounted file with one header per line, for services that want a key, e.g. coingecko.',
      ),
      maxAgeSeconds: maxAgeSeconds('Oldest price that is used, in seconds. Default 7200.'),
    },
  },
  notInverseRatio('tokenPath'),
);

/** A ratio of two prices in a third currency has one direction only, so it cannot be inverted. */
function notInverseRatio(field: 'tokenFeed' | 'tokenPath'): CelRule {
  return {
    rule: `!has(self.${field}) || !has(self.inverse) || !self.inverse`,
    message: `must be without inverse when ${field} is given`,
  };
}

const single = object(
  'One source: exactly one of static, chainlink and http.',
  { optional: { static: fixed, chainlink, http } },
  exactlyOneOf('static', 'chainlink', 'http'),
);

/** How several sources of one price are combined; a Chain's `nativePrice` says it in the same way. */
export const combined = <T extends object>(single: SchemaOf<T>) =>
  object(
    'The first of several sources that gives a price, when the others agree.',
    {
      required: {
        sources: list('The sources, the preferred one first.', single, { minItems: 1, maxItems: 8 }),
      },
      optional: {
        maxAgeSeconds: maxAgeSeconds('Sources whose price is older are left out, in seconds, e.g. 3600.'),
        maxDeviationPercent: number(
          'When the lowest and the highest price are further apart, e.g. 2, none is used. Absent: they are not compared.',
          { minimum: 0, maximum: 100 },
        ),
        minSources: integer(
          'So many sources must give a price, else none is used. Default: 2 with maxDeviationPercent, since one alone confirms nothing; else 1.',
          { minimum: 1, maximum: 8 },
        ),
      },
    },
    {
      fieldPath: '.minSources',
      rule: '!has(self.minSources) || self.minSources <= self.sources.size()',
      message: 'must be as many as there are sources, or fewer',
    },
  );

const price = object(
  'Where the price comes from: exactly one of static, chainlink, http and combine. The price is the number of tokens for a coin, which falls when the token becomes dearer.',
  {
    optional: {
      static: fixed,
      chainlink,
      http,
      combine: combined(single),
      ...priceBounds(
        text('The lowest price that is accepted: token base units per 10^18 wei, e.g. "500000000".', {
          minLength: 1,
          maxLength: 37,
          pattern: '^(0|[1-9][0-9]{0,36})$',
          expected: 'a whole number of base units in quotes, e.g. "500000000"',
        }),
      ),
    },
  },
  exactlyOneOf('static', 'chainlink', 'http', 'combine'),
);

/** The source of a token's price, exactly one member, with bounds. */
export type PriceSpec = Infer<typeof price>;
/** What is accepted of a source; nothing bounds `static`, which a person has written. */
export type PriceBounds = Pick<PriceSpec, 'maxFallPercent' | 'floor' | 'acceptedAt'>;
export type PriceSourceSpec = Omit<PriceSpec, keyof PriceBounds>;

export const feeToken = object('What the platform accepts.', {
  required: {
    chainId: chainId('Chain of the token, e.g. 8453.'),
    address: address('Address of the token, e.g. 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913.'),
    symbol: text('Symbol, e.g. USDC.', { minLength: 1, maxLength: 32 }),
    decimals: integer('Decimals of the token, e.g. 6.', { minimum: 0, maximum: 36 }),
    price,
  },
  optional: {
    premiumPercentage: text('Premium on top of the gas cost in percent, e.g. "12" or "7.5". Default "0".', {
      minLength: 1,
      maxLength: 8,
      pattern: '^(100(\\.0{1,4})?|(0|[1-9][0-9]?)(\\.[0-9]{1,4})?)$',
      expected: 'a percentage from 0 to 100 as text in quotes, e.g. "12" or "7.5", with at most 4 decimals',
    }),
    logoUrl: httpUrl('Picture of the token for wallets, e.g. https://example.org/usdc.png.'),
  },
});

export type FeeTokenSpec = Infer<typeof feeToken>;
