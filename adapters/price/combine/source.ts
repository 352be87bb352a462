import { combine } from '../../../core/pricing/combine.js';
import type { PriceSource } from '../../../core/pricing/price-source.js';
import type { PriceSpec } from '../../../core/pricing/fee-token-spec.js';
import type { SourceDeps } from '../source-deps.js';

/** Several sources, asked at the same time: a slow one costs its own deadline, not the sum. */
export function openCombine(
  rules: NonNullable<PriceSpec['combine']>,
  { clock }: Pick<SourceDeps, 'clock'>,
  sources: readonly PriceSource[],
): PriceSource {
  return {
    async read(token) {
      const answers = await Promise.all(sources.map((source) => source.read(token)));
      return combine(rules, answers, clock.now());
    },
  };
}
