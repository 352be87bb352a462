import type { Hex } from '../../core/units/hex.js';

/** Call data of `decimals()`, which tokens and price feeds have. */
export const decimalsCall: Hex = '0x313ce567';

/** The answer of {@link decimalsCall}; undefined when it is not a single number of at most `most`. */
export function decodeDecimals(result: Hex, most: bigint): number | undefined {
  if (!/^0x[0-9a-fA-F]{64}$/.test(result)) return undefined;
  const decimals = BigInt(result);
  return decimals > most ? undefined : Number(decimals);
}
