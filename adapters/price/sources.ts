import { faulty, type PriceSource } from '../../core/pricing/price-source.js';
import type { PriceSourceSpec } from '../../core/pricing/fee-token-spec.js';
import { openChainlink } from './chainlink/source.js';
import { openCombine } from './combine/source.js';
import { openHttp } from './http/source.js';
import type { SourceDeps } from './source-deps.js';
import { openStatic } from './static/source.js';

/** Every kind of price source, by its member of `spec.price`. */
const priceSources = {
  static: openStatic,
  chainlink: openChainlink,
  http: openHttp,
  combine: (spec, deps) =>
    openCombine(
      spec,
      deps,
      spec.sources.map((each) => openSource(each, deps)),
    ),
} as const satisfies {
  readonly [K in keyof PriceSourceSpec]-?: (
    spec: NonNullable<PriceSourceSpec[K]>,
    deps: SourceDeps,
  ) => PriceSource;
};

type PriceSourceKind = keyof typeof priceSources;

/** The source that a FeeToken names. Opening does no I/O. */
export function openSource(spec: PriceSourceSpec, deps: SourceDeps): PriceSource {
  if (spec.static !== undefined) return priceSources.static(spec.static, deps);
  if (spec.chainlink !== undefined) return priceSources.chainlink(spec.chainlink, deps);
  if (spec.http !== undefined) return priceSources.http(spec.http, deps);
  if (spec.combine !== undefined) return priceSources.combine(spec.combine, deps);
  return unknownSource;
}

/** A replica of an older build may get a kind that it does not know. */
const unknownSource: PriceSource = {
  read: async () => faulty('price source', 'MALFORMED', 'is of a kind that this build does not know'),
};

/** The member of `spec.price` that is set, for metrics. */
export function sourceKind(spec: PriceSourceSpec): PriceSourceKind {
  if (spec.static !== undefined) return 'static';
  if (spec.chainlink !== undefined) return 'chainlink';
  return spec.http === undefined ? 'combine' : 'http';
}
