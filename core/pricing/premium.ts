import { parseDecimal } from '../units/wei.js';

/** Parts per million that mean "no premium": a markup of 1,130,000 is a premium of 13 %. */
const markupBase = 1_000_000n;

/**
 * Premium as the markup by which contracts multiply: `"13"` → 1130000n, `"7.5"` → 1075000n. Exact, since a premium
 * has at most 4 decimals; default no premium. Throws RangeError for other text.
 */
export function markupOf(premiumPercentage: string | undefined): bigint {
  return markupBase + parseDecimal(premiumPercentage ?? '0', 4);
}
