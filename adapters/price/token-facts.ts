import { AbiCoder, decodeBytes32String } from 'ethers/abi';
import { CallReverted, type Chain } from '../../core/chain/chain.js';
import { isDomainError } from '../../core/errors.js';
import { faulty, type PricedToken, refused, type RefusedPrice } from '../../core/pricing/price-source.js';
import { type Clock, type EpochMs, plusMs } from '../../core/units/time.js';
import type { Hex } from '../../core/units/hex.js';

type Deps = { readonly chain: (chainId: number) => Chain; readonly clock: Clock };

/**
 * A proxy may be upgraded to another token; wrong decimals would be off by powers of ten. Half of a quote's lifetime.
 */
const recheckMs = 60_000;
const maxDecimals = 255n;
const symbolCall: Hex = '0x95d89b41';

/**
 * Compares FeeTokens with the answers of the tokens themselves: asks each token when it is first seen and then every minute. A token that was right stays right while its chain does
 * not answer. A token that has never been checked is refused until it has been.
 */
export function createTokenFacts({ chain, clock }: Deps) {
  const confirmed = new Map<PricedToken, EpochMs>();

  return {
    /** Why the token must not be quoted, or undefined when its symbol and decimals are those of the FeeToken. */
    async check(token: PricedToken): Promise<RefusedPrice | undefined> {
      const until = confirmed.get(token);
      if (until !== undefined && clock.now() < until) return undefined;
      const source = `token ${token.address}`;
      try {
        const mismatch = await compare(chain(token.chainId), token, source);
        if (mismatch === undefined) confirmed.set(token, plusMs(clock.now(), recheckMs));
        else confirmed.delete(token);
        return mismatch;
      } catch (error) {
        if (error instanceof CallReverted)
          return faulty(source, 'REVERTED', 'does not tell its decimals and symbol');
        if (!isDomainError(error)) throw error;
        if (until !== undefined) return undefined;
        return faulty(source, 'UNREACHABLE', `could not be asked: ${error.message}`);
      }
    },
    /** Forgets every token that is not in `kept`. */
    prune(kept: ReadonlySet<PricedToken>): void {
      for (const token of confirmed.keys()) if (!kept.has(token)) confirmed.delete(token);
    },
  };
}

async function compare(chain: Chain, token: PricedToken, source: string): Promise<RefusedPrice | undefined> {
  const [decimalsResult, symbolResult] = await Promise.all([
    chain.call({ to: token.address, data: decimalsCall }),
    chain.call({ to: token.address, data: symbolCall }),
  ]);
  const decimals = decodeDecimals(decimalsResult, maxDecimals);
  if (decimals === undefined)
    return faulty(source, 'MALFORMED', 'is not a token: it does not answer decimals()');
  if (decimals !== token.decimals)
    return refused({ source, reason: 'DECIMALS_MISMATCH', declared: token.decimals, found: decimals });
  const symbol = decodeSymbol(symbolResult);
  if (symbol === undefined) return faulty(source, 'MALFORMED', 'is not a token: it does not answer symbol()');
  if (symbol !== token.symbol)
    return refused({ source, reason: 'SYMBOL_MISMATCH', declared: token.symbol, found: symbol });
  return undefined;
}

/** `string`, or the `bytes32` of tokens that are older than ERC-20. Reads at most 64 characters. */
function decodeSymbol(result: Hex): string | undefined {
  try {
    if (result.length === 66) return decodeBytes32String(result);
    const [symbol]: unknown[] = AbiCoder.defaultAbiCoder().decode(['string'], result).toArray();
    return typeof symbol === 'string' ? symbol.slice(0, 64) : undefined;
  } catch {
    return undefined;
  }
}

/** Call data of `decimals()`, which tokens and price feeds have. */
export const decimalsCall: Hex = '0x313ce567';

/** The answer of {@link decimalsCall}; undefined when it is not a single number of at most `most`. */
export function decodeDecimals(result: Hex, most: bigint): number | undefined {
  if (!/^0x[0-9a-fA-F]{64}$/.test(result)) return undefined;
  const decimals = BigInt(result);
  return decimals > most ? undefined : Number(decimals);
}
