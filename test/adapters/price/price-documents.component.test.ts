import type { PriceSource } from '../../../core/pricing/price-source.js';
import type { PriceSpec } from '../../../core/pricing/fee-token-spec.js';
import { systemClock } from '../../../core/units/time.js';
import { formatDecimal } from '../../../core/units/wei.js';
import {
  priceSourceConformance,
  type PriceSourceSubject,
  type SourceFault,
} from '../../conformance/price-source.js';
import { startJsonHost, type JsonHost } from './support/json-host.js';
import { inverse, scaled, sourceOpener } from './support/open-sources.js';

// Real hosts on loopback: the host's answer produces each fault.

priceSourceConformance<PriceSourceSubject & { readonly open: (spec: PriceSpec) => PriceSource }>(
  'static',
  async () => {
    const { open, documents } = sourceOpener();
    return {
      open,
      quote: async (text, { decimals }) =>
        open({ static: { rate: formatDecimal(scaled(text, decimals + 18), 18) } }),
      stop: () => documents.stop(),
    };
  },
  [
    {
      name: 'a rate of zero',
      reason: 'OUT_OF_RANGE',
      says: /^static answers 0, which is not a price above zero$/,
      arrange: async ({ open }) => open({ static: { rate: '0.0' } }),
    },
    {
      name: 'a huge rate',
      reason: 'OUT_OF_RANGE',
      says: /^static answers a rate of more than/,
      arrange: async ({ open }) => open({ static: { rate: `1${'0'.repeat(37)}` } }),
    },
    {
      name: 'a text that is not a number',
      reason: 'MALFORMED',
      says: /^static has no decimal rate$/,
      arrange: async ({ open }) => open({ static: { rate: 'cheap' } }),
    },
  ],
);

type HttpSubject = PriceSourceSubject & {
  readonly host: JsonHost;
  readonly open: (spec: PriceSpec) => PriceSource;
  /** The same with a deadline of 300 ms. */
  readonly openHasty: (spec: PriceSpec) => PriceSource;
};

async function startHttp(): Promise<Omit<HttpSubject, 'quote'>> {
  const host = await startJsonHost();
  const { open, documents } = sourceOpener();
  const hasty = sourceOpener({ timeoutMs: 300 });
  return {
    host,
    open,
    openHasty: hasty.open,
    async stop() {
      await hasty.documents.stop();
      await documents.stop();
      await host.stop();
    },
  };
}

const httpFaults: readonly SourceFault<HttpSubject>[] = [
  ...(
    [
      {
        name: 'garbage instead of JSON',
        body: '<html>busy</html>',
        reason: 'MALFORMED',
        says: /^http 127\.0\.0\.1:\d+ answers something that is not JSON$/,
      },
      { name: 'cut JSON', body: '{"rate": 31', reason: 'MALFORMED', says: /not JSON/ },
      {
        name: 'another document',
        body: '{"error":"unknown pair"}',
        reason: 'MALFORMED',
        says: /has nothing at rate/,
      },
      {
        name: 'words for a number',
        body: '{"rate":"N/A"}',
        reason: 'MALFORMED',
        says: /not a decimal number/,
      },
      { name: 'NaN, which JSON has not', body: '{"rate":NaN}', reason: 'MALFORMED', says: /not JSON/ },
      { name: 'zero', body: '{"rate":0}', reason: 'OUT_OF_RANGE', says: /not a price above zero/ },
      { name: 'a negative price', body: '{"rate":-3000}', reason: 'OUT_OF_RANGE', says: /answers -3000/ },
      { name: 'a huge number', body: '{"rate":1e40}', reason: 'OUT_OF_RANGE', says: /a rate of more than/ },
      {
        name: 'an absurd exponent',
        body: '{"rate":1e999999999}',
        reason: 'MALFORMED',
        says: /not a decimal number/,
      },
      {
        name: 'a million digits',
        body: `{"rate":${'9'.repeat(400_000)}}`,
        reason: 'MALFORMED',
        says: /not a decimal number/,
      },
      {
        name: 'more than half a megabyte',
        body: `{"rate":1,"x":"${'x'.repeat(600_000)}"}`,
        reason: 'MALFORMED',
        says: /answers more than 524288 bytes/,
      },
    ] as const
  ).map(({ name, body, reason, says }) => ({
    name,
    reason,
    says,
    arrange: async ({ host, open }: HttpSubject) => {
      host.say(body);
      return open({ http: { url: `${host.origin}/price`, path: 'rate' } });
    },
  })),
  ...(
    [
      { name: 'HTTP 500', status: 500, says: /answers HTTP 500$/ },
      { name: 'HTTP 429', status: 429, says: /answers HTTP 429$/ },
      { name: 'HTTP 401', status: 401, says: /answers HTTP 401: check its headersFile$/ },
    ] as const
  ).map(({ name, status, says }) => ({
    name,
    reason: 'UNREACHABLE' as const,
    says,
    arrange: async ({ host, open }: HttpSubject) => {
      host.answer((_request, response) => response.writeHead(status).end('{"rate":1}'));
      return open({ http: { url: `${host.origin}/price`, path: 'rate' } });
    },
  })),
  {
    name: 'a redirect, to a place that would answer',
    reason: 'UNREACHABLE',
    says: /answers HTTP 302, and redirects are not followed$/,
    arrange: async ({ host, open }) => {
      host.answer((request, response) =>
        request.path === '/price'
          ? response.writeHead(302, { location: '/other' }).end()
          : response.writeHead(200).end('{"rate":1}'),
      );
      return open({ http: { url: `${host.origin}/price`, path: 'rate' } });
    },
  },
  {
    name: 'a host that is slow to answer',
    reason: 'UNREACHABLE',
    says: /did not answer within 300 ms$/,
    arrange: async ({ host, openHasty }) => {
      host.answer(() => {});
      return openHasty({ http: { url: `${host.origin}/price`, path: 'rate' } });
    },
  },
  {
    name: 'a host that is slow in the middle of its answer',
    reason: 'UNREACHABLE',
    says: /did not answer within 300 ms$/,
    arrange: async ({ host, openHasty }) => {
      host.answer((_request, response) => void response.writeHead(200).write('{"rate":'));
      return openHasty({ http: { url: `${host.origin}/price`, path: 'rate' } });
    },
  },
  {
    name: 'nobody listens',
    reason: 'UNREACHABLE',
    says: /^http 127\.0\.0\.1:1 could not be asked \(ECONNREFUSED\)$/,
    arrange: async ({ open }) => open({ http: { url: 'http://127.0.0.1:1/key-in-path', path: 'rate' } }),
  },
  {
    name: 'the time in the document is too long ago',
    reason: 'STALE',
    says: /is \d+ s old, at most 60 s are accepted$/,
    arrange: async ({ host, open }) => {
      host.say(`{"rate":1,"at":${Math.floor(systemClock.now() / 1000) - 61}}`);
      return open({ http: { url: `${host.origin}/price`, path: 'rate', timePath: 'at', maxAgeSeconds: 60 } });
    },
  },
  {
    name: 'the document has no time',
    reason: 'MALFORMED',
    says: /has nothing at at, not a time$/,
    arrange: async ({ host, open }) => {
      host.say('{"rate":1}');
      return open({ http: { url: `${host.origin}/price`, path: 'rate', timePath: 'at' } });
    },
  },
];

priceSourceConformance<HttpSubject>(
  'http, tokens per native coin',
  async () => {
    const http = await startHttp();
    return {
      ...http,
      async quote(text) {
        http.host.say(`{"data":[{"rate":${text}}]}`);
        return http.open({ http: { url: `${http.host.origin}/price`, path: 'data[0].rate' } });
      },
    };
  },
  httpFaults,
);

priceSourceConformance<HttpSubject>(
  'http, the inverse',
  async () => {
    const http = await startHttp();
    return {
      ...http,
      async quote(text) {
        http.host.say(`{"rate":"${formatDecimal(inverse(text, 18), 18)}"}`);
        return http.open({ http: { url: `${http.host.origin}/price`, path: 'rate', inverse: true } });
      },
    };
  },
  [
    {
      name: 'zero, which has no inverse',
      reason: 'OUT_OF_RANGE',
      says: /answers 0, which is not a price above zero/,
      arrange: async ({ host, open }) => {
        host.say('{"rate":0.0}');
        return open({ http: { url: `${host.origin}/price`, path: 'rate', inverse: true } });
      },
    },
  ],
);

priceSourceConformance<HttpSubject>(
  'http, two prices in one currency',
  async () => {
    const http = await startHttp();
    return {
      ...http,
      async quote(text) {
        http.host.say(`{"eth":{"usd":${formatDecimal(3n * scaled(text, 18), 18)}},"usdc":{"usd":3.0}}`);
        return http.open({
          http: { url: `${http.host.origin}/price`, path: 'eth.usd', tokenPath: 'usdc.usd' },
        });
      },
    };
  },
  [
    {
      name: 'the price of the token is missing',
      reason: 'MALFORMED',
      says: /has nothing at usdc/,
      arrange: async ({ host, open }) => {
        host.say('{"eth":3000}');
        return open({ http: { url: `${host.origin}/price`, path: 'eth', tokenPath: 'usdc' } });
      },
    },
  ],
);

priceSourceConformance<HttpSubject>(
  'combine',
  async () => {
    const http = await startHttp();
    return {
      ...http,
      async quote(text, { decimals }) {
        http.host.say(`{"rate":${text}}`);
        const rate = formatDecimal(scaled(text, decimals + 18), 18);
        return http.open({
          combine: {
            sources: [{ http: { url: `${http.host.origin}/price`, path: 'rate' } }, { static: { rate } }],
            // Rates of few base units are rounded up by a large part of themselves.
            maxDeviationPercent: 100,
          },
        });
      },
    };
  },
  [
    {
      name: 'the sources are further apart than the limit',
      reason: 'DEVIATION',
      says: /^combine: http 127\.0\.0\.1:\d+ says 3000000000 and static says 3030000001, more than 1 % apart$/,
      arrange: async ({ host, open }) => {
        host.say('{"rate":3000}');
        return open({
          combine: {
            sources: [
              { http: { url: `${host.origin}/price`, path: 'rate' } },
              { static: { rate: '3030000001' } },
            ],
            maxDeviationPercent: 1,
          },
        });
      },
    },
    {
      name: 'one of two that are compared does not answer',
      reason: 'UNREACHABLE',
      says: /^combine has 1 usable sources and needs 2: http 127\.0\.0\.1:1 could not be asked/,
      arrange: async ({ open }) =>
        open({
          combine: {
            sources: [{ http: { url: 'http://127.0.0.1:1/', path: 'rate' } }, { static: { rate: '3' } }],
            maxDeviationPercent: 1,
          },
        }),
    },
    {
      name: 'one answers garbage, and the others are too few',
      reason: 'TOO_FEW',
      says: /needs 2: http 127\.0\.0\.1:\d+ answers something that is not JSON$/,
      arrange: async ({ host, open }) => {
        host.say('busy');
        return open({
          combine: {
            sources: [{ http: { url: `${host.origin}/price`, path: 'rate' } }, { static: { rate: '3' } }],
            minSources: 2,
          },
        });
      },
    },
  ],
);
