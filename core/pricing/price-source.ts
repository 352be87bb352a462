import { DomainError, unreachable } from '../errors.js';
import type { FeeTokenSpec } from './fee-token-spec.js';
import type { EpochMs } from '../units/time.js';

/** What one native coin costs in a token, at one moment. Integers throughout. */
export type Price = {
  /** Token base units per 10^18 wei, always above zero. A fraction was rounded up. */
  readonly rate: bigint;
  /** US dollars per 10^18 wei with 18 implied decimals; absent where the source knows no dollars. */
  readonly usdPerNative?: bigint;
  /** When it was true, as far as the source says: the feed's own time, or else when it was asked. */
  readonly observedAt: EpochMs;
  /** From this instant on the source calls it stale; absent where a price never ages. */
  readonly staleAt?: EpochMs;
  /** For people: kind and place without secrets, e.g. `chainlink 0x5f4e…` or `http api.example.com`. */
  readonly source: string;
};

/** Why there is no price that may be used. Never a wrong rate: whatever is in doubt is refused. */
export type PriceRefusal = { readonly source: string } & (
  | { readonly reason: 'STALE'; readonly ageSeconds: number; readonly maxAgeSeconds: number }
  | {
      readonly reason: 'DEVIATION';
      readonly lowest: Pick<Price, 'rate' | 'source'>;
      readonly highest: Pick<Price, 'rate' | 'source'>;
      readonly maxDeviationPercent: number;
    }
  /** Of several sources not enough gave a price; `faults` of the others, the preferred one first. */
  | {
      readonly reason: 'TOO_FEW';
      readonly usable: number;
      readonly needed: number;
      readonly faults: readonly PriceRefusal[];
    }
  /** `DECIMALS_MISMATCH`: the resource says one thing, the token on chain another. */
  | { readonly reason: 'DECIMALS_MISMATCH'; readonly declared: number; readonly found: number }
  | { readonly reason: 'SYMBOL_MISMATCH'; readonly declared: string; readonly found: string }
  /**
   * `UNREACHABLE`: no answer in time, or one that says "not now". `REVERTED`: the contract refused to answer.
   * `MALFORMED`: an answer that is not what was asked for. `OUT_OF_RANGE`: zero, negative, or too small or large to
   * count. `INCOMPLETE`: a round of a feed that has no answer of its own yet.
   */
  | {
      readonly reason: 'UNREACHABLE' | 'REVERTED' | 'MALFORMED' | 'OUT_OF_RANGE' | 'INCOMPLETE';
      readonly detail: string;
    }
);
export type PriceFault = PriceRefusal['reason'];

export type PriceAnswer = { readonly ok: true; readonly price: Price } | RefusedPrice;
export type RefusedPrice = { readonly ok: false; readonly refusal: PriceRefusal };

/** The part of a FeeToken that a source needs. */
export type PricedToken = Pick<FeeTokenSpec, 'chainId' | 'address' | 'symbol' | 'decimals'>;

/**
 * Port: one configured source of one token's price. Every read has a deadline and never rejects: what went wrong is a
 * refusal. Reads of the same source that overlap may share one request.
 */
export type PriceSource = { read(token: PricedToken): Promise<PriceAnswer> };

/** Prices of the served fee tokens, cached and kept warm. Never rejects. */
export type Prices = {
  /** The last answer without waiting, while it may still be used; undefined: ask `get`. */
  peek(token: FeeTokenSpec): PriceAnswer | undefined;
  /** As `peek`, else asks the source. Callers that ask at the same time share one request. */
  get(token: FeeTokenSpec): Promise<PriceAnswer>;
  /** US dollars per 10^18 wei with 18 implied decimals, from whichever served token of the chain knows it now. */
  usdPerNative(chainId: number): bigint | undefined;
};

export function priced(price: Price): PriceAnswer {
  return { ok: true, price };
}

export function refused(refusal: PriceRefusal): RefusedPrice {
  return { ok: false, refusal };
}

/** The price, or DomainError FEE_TOKEN_UNSUPPORTED that says which source refused it and why. */
export function requirePrice(token: PricedToken, answer: PriceAnswer): Price {
  if (answer.ok) return answer.price;
  throw new DomainError(
    'FEE_TOKEN_UNSUPPORTED',
    `fee token ${token.symbol} has no price now: ${formatRefusal(answer.refusal)}`,
    { reason: 'FEE_TOKEN_UNSUPPORTED' },
  );
}

/** One sentence part with the figures: for errors and logs, not for a status. */
export function formatRefusal(refusal: PriceRefusal): string {
  const { source } = refusal;
  switch (refusal.reason) {
    case 'STALE':
      return `${source} is ${refusal.ageSeconds} s old, at most ${refusal.maxAgeSeconds} s are accepted`;
    case 'DEVIATION': {
      const { lowest, highest, maxDeviationPercent } = refusal;
      return `${source}: ${lowest.source} says ${lowest.rate} and ${highest.source} says ${highest.rate}, more than ${maxDeviationPercent} % apart`;
    }
    case 'TOO_FEW':
      return `${source} has ${refusal.usable} usable sources and needs ${refusal.needed}: ${refusal.faults.map(formatRefusal).join('; ')}`;
    case 'DECIMALS_MISMATCH':
      return `${source}: the token has ${refusal.found} decimals, its FeeToken says ${refusal.declared}`;
    case 'SYMBOL_MISMATCH':
      return `${source}: the token calls itself "${refusal.found}", its FeeToken says "${refusal.declared}"`;
    case 'UNREACHABLE':
    case 'REVERTED':
    case 'MALFORMED':
    case 'OUT_OF_RANGE':
    case 'INCOMPLETE':
      return `${source} ${refusal.detail}`;
    default:
      return unreachable(refusal);
  }
}
