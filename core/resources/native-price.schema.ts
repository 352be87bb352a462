import type { PriceBounds } from '../pricing/fee-token-spec.js';
import type { NativePriceSpec } from '../pricing/native-price.js';
import { address, exactlyOneOf, httpUrl, mountedFile } from '../meta/schema-parts.js';
import { object, text, type CelRule } from '../schema/structural.js';
import { combined, documentPath, maxAgeSeconds, priceBounds, sequencerFeed } from './fee-token.schema.js';

type OneSource = Omit<NativePriceSpec, 'combine' | keyof PriceBounds>;

/** A test chain may say that its coin costs nothing; among several sources zero would be the lowest. */
function fixed(...rules: readonly CelRule[]) {
  return object<NonNullable<OneSource['static']>>('A price that never moves, for test chains.', {
    required: {
      usdPerNative: text(
        'US dollars per native coin as decimal text, e.g. "3123.45"; "0", where a test chain may say it, counts nothing.',
        {
          minLength: 1,
          maxLength: 31,
          pattern: '^(0|[1-9][0-9]{0,11})(\\.[0-9]{1,18})?$',
          expected: 'an amount of dollars as decimal text in quotes, e.g. "3123.45"',
        },
        ...rules,
      ),
    },
  });
}

const sources = {
  chainlink: object<NonNullable<OneSource['chainlink']>>(
    'A price feed on the same chain (AggregatorV3Interface) whose description() ends in "/ USD".',
    {
      required: {
        nativeFeed: address(
          'Address of the feed, e.g. 0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419 (ETH / USD).',
        ),
      },
      optional: {
        sequencerFeed,
        maxAgeSeconds: maxAgeSeconds(
          "Oldest answer that is used, in seconds: a little more than the feed's heartbeat. Default 7200.",
        ),
      },
    },
  ),
  http: object<NonNullable<OneSource['http']>>('A price from a JSON document.', {
    required: {
      url: httpUrl('Address of the document, e.g. https://prices.example.org/v1/eth.', {
        confidential: true,
      }),
      path: documentPath('Where the US dollars per native coin stand in it, e.g. data.eth.usd.'),
    },
    optional: {
      timePath: documentPath(
        'Where the time of the price stands, e.g. data.updatedAt, in Unix seconds or milliseconds or as RFC 3339. Absent: the time of the answer.',
      ),
      headersFile: mountedFile('Mounted file with one header per line, e.g. coingecko.'),
      maxAgeSeconds: maxAgeSeconds('Oldest price that is used, in seconds. Default 7200.'),
    },
  }),
};

const single = object<OneSource>(
  'One source: exactly one of static, chainlink and http.',
  {
    optional: {
      ...sources,
      static: fixed({ rule: "self.matches('[1-9]')", message: 'must be more than zero' }),
    },
  },
  exactlyOneOf('static', 'chainlink', 'http'),
);

export const nativePrice = object<NativePriceSpec>(
  'What the native coin costs in US dollars: exactly one of static, chainlink, http and combine. Read every 10 seconds; condition PriceUsable says whether it can be used.',
  {
    optional: {
      ...sources,
      static: fixed(),
      combine: combined(single),
      ...priceBounds(
        text('The least price that is accepted, in US dollars as decimal text, e.g. "100".', {
          minLength: 1,
          maxLength: 31,
          pattern: '^(0|[1-9][0-9]{0,11})(\\.[0-9]{1,18})?$',
          expected: 'an amount of dollars as decimal text in quotes, e.g. "100"',
        }),
      ),
    },
  },
  exactlyOneOf('static', 'chainlink', 'http', 'combine'),
);
