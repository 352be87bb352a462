import { createFeeds } from '../../../../adapters/price/chainlink/feeds.js';
import { createDocuments, type Documents } from '../../../../adapters/price/http/documents.js';
import { openSource } from '../../../../adapters/price/sources.js';
import { silentLogger } from '../../../../core/log.js';
import { parseNumberText, ratioUp, type Decimal } from '../../../../core/pricing/decimal.js';
import type { PriceSource } from '../../../../core/pricing/price-source.js';
import type { PriceSpec } from '../../../../core/pricing/fee-token-spec.js';
import { systemClock } from '../../../../core/units/time.js';
import type { FeedChain } from './feed-chain.js';

export type SourceOpener = { readonly documents: Documents; readonly open: (spec: PriceSpec) => PriceSource };

/** Opens sources as the service does, with a deadline that a busy machine keeps; kinds that need no chain leave it alone. */
export function sourceOpener({
  chain,
  timeoutMs = 10_000,
}: { readonly chain?: FeedChain; readonly timeoutMs?: number } = {}): SourceOpener {
  const clock = systemClock;
  const documents = createDocuments({ clock, log: silentLogger, timeoutMs });
  const feeds = createFeeds({
    chain: () => {
      if (chain === undefined) throw new Error('this test has no chain');
      return chain.chain;
    },
  });
  return { documents, open: (spec) => openSource(spec, { clock, feeds, documents }) };
}

/** A decimal text as an integer with this many decimals. */
export function scaled(text: string, decimals: number): bigint {
  return ratioUp(decimal(text), one, decimals);
}

/** The inverse of a decimal text as an integer with this many decimals, which must represent it exactly. */
export function inverse(text: string, decimals: number): bigint {
  return ratioUp(one, decimal(text), decimals);
}

const one: Decimal = { value: 1n, decimals: 0 };

function decimal(text: string): Decimal {
  const number = parseNumberText(text);
  if (number === undefined) throw new Error(`no number: ${text}`);
  return number;
}
