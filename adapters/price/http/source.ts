import {
  checkAge,
  faulty,
  toStaleAt,
  type PricedToken,
  type PriceSource,
} from '../../../core/pricing/price-source.js';
import type { Decimal } from '../../../core/pricing/decimal.js';
import { parsePath, readNumber, readTime, type DocumentPath } from '../../../core/pricing/json-document.js';
import { computePrice } from '../../../core/pricing/rate.js';
import type { PriceSpec } from '../../../core/pricing/fee-token-spec.js';
import type { EpochMs } from '../../../core/units/time.js';
import { defaultMaxAgeSeconds, type SourceDeps } from '../source-deps.js';
import { sourceName, type DocumentReading } from './documents.js';

/** A price from a JSON document, read without floats. */
export function openHttp(
  spec: NonNullable<PriceSpec['http']>,
  { documents, clock }: Pick<SourceDeps, 'documents' | 'clock'>,
): PriceSource {
  const { inverse = false, headersFile, maxAgeSeconds = defaultMaxAgeSeconds } = spec;
  const paths: Paths = {
    price: parsePath(spec.path),
    token: optionalPath(spec.tokenPath),
    usd: optionalPath(spec.usdPath),
    time: optionalPath(spec.timePath),
  };

  return {
    async read(token) {
      const url = fill(spec.url, token, encodeURIComponent);
      const source = sourceName(url);
      const reading = await documents.read(url, headersFile);
      if (!reading.ok) return reading;

      const figures = readFigures(reading, paths, token);
      if (typeof figures === 'string') return faulty(source, 'MALFORMED', figures);
      const { price, tokenPrice, usd, observedAt } = figures;
      const tooOld = checkAge(source, observedAt, maxAgeSeconds, clock.now());
      if (tooOld !== undefined) return tooOld;
      return computePrice(
        {
          source,
          quoted: { native: price, token: tokenPrice, inverse },
          ...(usd === undefined ? {} : { usd }),
          observedAt,
          staleAt: toStaleAt(observedAt, maxAgeSeconds),
        },
        token.decimals,
      );
    },
  };
}

type Paths = {
  readonly price: DocumentPath;
  readonly token: DocumentPath | undefined;
  readonly usd: DocumentPath | undefined;
  readonly time: DocumentPath | undefined;
};

type Figures = {
  readonly price: Decimal;
  readonly tokenPrice: Decimal | undefined;
  readonly usd: Decimal | undefined;
  readonly observedAt: EpochMs;
};

/** The figures at all paths, or what is wrong with the first path that fails. */
function readFigures(
  { document, askedAt }: DocumentReading,
  paths: Paths,
  token: PricedToken,
): Figures | string {
  const number = (path: DocumentPath) => readNumber(document, fillPath(path, token));
  const price = number(paths.price);
  if (typeof price === 'string') return price;
  const tokenPrice = paths.token && number(paths.token);
  if (typeof tokenPrice === 'string') return tokenPrice;
  const usd = paths.usd && number(paths.usd);
  if (typeof usd === 'string') return usd;
  const observedAt = paths.time === undefined ? askedAt : readTime(document, fillPath(paths.time, token));
  if (typeof observedAt === 'string') return observedAt;
  return { price, tokenPrice, usd, observedAt };
}

function optionalPath(path: string | undefined): DocumentPath | undefined {
  return path === undefined ? undefined : parsePath(path);
}

/** Filled in step by step, so that a symbol such as `USDC.e` stays one name. */
function fillPath(path: DocumentPath, token: PricedToken): DocumentPath {
  return path.map((step) => (typeof step === 'number' ? step : fill(step, token)));
}

function fill(
  template: string,
  { chainId, address, symbol }: PricedToken,
  encode: (text: string) => string = (text) => text,
): string {
  const values: Readonly<Record<string, string>> = {
    '{chainId}': String(chainId),
    '{address}': address.toLowerCase(),
    '{symbol}': encode(symbol),
  };
  return template.replaceAll(/\{(?:chainId|address|symbol)\}/g, (name) => values[name] ?? name);
}
