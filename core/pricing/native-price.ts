import { address, exactlyOneOf, httpUrl, mountedFile } from '../meta/schema-parts.js';
import { object, text, type CelRule, type Infer } from '../schema/structural.js';
import { zeroAddress } from '../units/address.js';
import { given } from '../units/given.js';
import { parseEther } from '../units/wei.js';
import {
  combined,
  documentPath,
  dollars,
  maxAgeSeconds,
  priceBounds,
  sequencerFeed,
  timePath,
  type FeeTokenSpec,
  type PriceBounds,
  type PriceSourceSpec,
  type PriceSpec,
} from './fee-token-spec.js';
import { faulty, type PriceAnswer } from './price-source.js';

/** A test chain may say that its coin costs nothing; among several sources zero would be the lowest. */
function fixed(...rules: readonly CelRule[]) {
  return object('A price that never moves, for test chains.', {
    required: {
      usdPerNative: text(
        'US dollars per native coin as decimal text, e.g. "3123.45"; "0", where a test chain may say it, counts nothing.',
        dollars('an amount of dollars as decimal text in quotes, e.g. "3123.45"'),
        ...rules,
      ),
    },
  });
}

const sources = {
  chainlink: object(
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
  http: object('A price from a JSON document.', {
    required: {
      url: httpUrl('Address of the document, e.g. https://prices.example.org/v1/eth.', {
        confidential: true,
      }),
      path: documentPath('Where the US dollars per native coin stand in it, e.g. data.eth.usd.'),
    },
    optional: {
      timePath,
      headersFile: mountedFile('Mounted file with one header per line, e.g. coingecko.'),
      maxAgeSeconds: maxAgeSeconds('Oldest price that is used, in seconds. Default 7200.'),
    },
  }),
};

const single = object(
  'One source: exactly one of static, chainlink and http.',
  {
    optional: {
      ...sources,
      static: fixed({ rule: "self.matches('[1-9]')", message: 'must be more than zero' }),
    },
  },
  exactlyOneOf('static', 'chainlink', 'http'),
);

export const nativePrice = object(
  'What the native coin costs in US dollars: exactly one of static, chainlink, http and combine. Read every 10 seconds; condition PriceUsable says whether it can be used.',
  {
    optional: {
      ...sources,
      static: fixed(),
      combine: combined(single),
      ...priceBounds(
        text(
          'The least price that is accepted, in US dollars as decimal text, e.g. "100".',
          dollars('an amount of dollars as decimal text in quotes, e.g. "100"'),
        ),
      ),
    },
  },
  exactlyOneOf('static', 'chainlink', 'http', 'combine'),
);

/** The source of the coin's price in US dollars, exactly one member, with bounds; `floor` is in dollars. */
export type NativePriceSpec = Infer<typeof nativePrice>;

/** The same source and bounds for a token of 18 decimals that is a dollar. */
export function inDollars({ maxFallPercent, floor, acceptedAt, ...source }: NativePriceSpec): PriceSpec {
  const least = floor === undefined ? undefined : String(parseEther(floor));
  return { ...sourceInDollars(source), ...given({ maxFallPercent, floor: least, acceptedAt }) };
}

function sourceInDollars({
  static: fixed,
  chainlink,
  http,
  combine,
}: Omit<NativePriceSpec, keyof PriceBounds>): PriceSourceSpec {
  if (fixed !== undefined) return { static: { ...fixed, rate: String(parseEther(fixed.usdPerNative)) } };
  if (chainlink !== undefined) return { chainlink };
  if (http !== undefined) return { http: { ...http, usdPath: http.path } };
  return combine === undefined
    ? {}
    : { combine: { ...combine, sources: combine.sources.map(sourceInDollars) } };
}

/** The coin's price in dollars as that of a token; nothing is deployed at its address. */
export function toDollarSpec(chainId: number, price: PriceSpec): FeeTokenSpec {
  return { chainId, address: zeroAddress, symbol: 'USD', decimals: 18, price };
}

export function isDollar({ address }: Pick<FeeTokenSpec, 'address'>): boolean {
  return address === zeroAddress;
}

/** A feed says in its description which currency it quotes, and no other currency counts as dollars. */
export function requireDollars(answer: PriceAnswer): PriceAnswer {
  if (!answer.ok || answer.price.usdPerNative !== undefined) return answer;
  return faulty(
    answer.price.source,
    'MALFORMED',
    'does not say that it quotes US dollars: its description() must end in "/ USD"',
  );
}
