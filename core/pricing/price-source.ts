import { DomainError, unreachable } from '../errors.js';
import type { FeeTokenSpec } from './fee-token-spec.js';
import { plusMs, type EpochMs } from '../units/time.js';

/** The price of one native coin in a token, at one moment. Integers throughout. */
export type Price = {
  /** Token base units per 10^18 wei, above zero unless a test chain states that its coin costs nothing. A fraction was rounded up. */
  readonly rate: bigint;
  /** US dollars per 10^18 wei with 18 implied decimals; absent when the source knows no dollars. */
  readonly usdPerNative?: bigint;
  /** When the price was true: the feed's own time if it gives one, otherwise the time when we asked. */
  readonly observedAt: EpochMs;
  /** From this moment on the source calls the price stale; absent when a price never ages. */
  readonly staleAt?: EpochMs;
  /** For people: kind and address of the source without secrets, e.g. `chainlink 0x5f4e…` or `http api.example.com`. */
  readonly source: string;
};

/** Why no price may be used. A doubtful price is refused, so that a wrong rate is never used. */
export type PriceRefusal = { readonly source: string } & (
  | { readonly reason: 'STALE'; readonly ageSeconds: number; readonly maxAgeSeconds: number }
  | {
      readonly reason: 'DEVIATION';
      readonly lowest: Pick<Price, 'rate' | 'source'>;
      readonly highest: Pick<Price, 'rate' | 'source'>;
      readonly maxDeviationPercent: number;
    }
  /** Of several sources not enough gave a price; `faults` of the failed ones, the preferred one first. */
  | {
      readonly reason: 'TOO_FEW';
      readonly usable: number;
      readonly needed: number;
      readonly faults: readonly PriceRefusal[];
    }
  /** Too far below the last accepted price, or below the floor; rates as in {@link Price}. */
  | { readonly reason: 'JUMP'; readonly rate: bigint; readonly least: bigint }
  /** `DECIMALS_MISMATCH`: the resource and the token on chain disagree. */
  | { readonly reason: 'DECIMALS_MISMATCH'; readonly declared: number; readonly found: number }
  | { readonly reason: 'SYMBOL_MISMATCH'; readonly declared: string; readonly found: string }
  /**
   * `UNREACHABLE`: no answer in time, or one that says "not now". `REVERTED`: the contract refused to answer.
   * `MALFORMED`: the answer is not what we asked for. `OUT_OF_RANGE`: zero, negative, or too small or too large to
   * count. `INCOMPLETE`: a round of a feed that does not have an answer yet.
   * `SEQUENCER_DOWN`: the roll-up's sequencer is down, or was less than an hour ago.
   */
  | { readonly reason: DetailedFault; readonly detail: string }
);
type DetailedFault =
  'UNREACHABLE' | 'REVERTED' | 'MALFORMED' | 'OUT_OF_RANGE' | 'INCOMPLETE' | 'SEQUENCER_DOWN';
export type PriceFault = PriceRefusal['reason'];

export type PriceAnswer = { readonly ok: true; readonly price: Price } | RefusedPrice;
export type RefusedPrice = { readonly ok: false; readonly refusal: PriceRefusal };

/** The part of a FeeToken that a source needs. */
export type PricedToken = Pick<FeeTokenSpec, 'chainId' | 'address' | 'symbol' | 'decimals'>;

/**
 * Port: one configured source for the price of one token. Every read has a deadline and never rejects: a failure is
 * answered as a refusal. Overlapping reads of the same source may share one request.
 */
export type PriceSource = { read(token: PricedToken): Promise<PriceAnswer> };

/** Prices of the served fee tokens, cached and kept warm. Never rejects. */
export type Prices = {
  /** The last answer, without waiting, while it may still be used. Undefined means: ask `get`. */
  peek(token: FeeTokenSpec): PriceAnswer | undefined;
  /** As `peek`, but asks the source if necessary. Callers that ask at the same time share one request. */
  get(token: FeeTokenSpec): Promise<PriceAnswer>;
  /** US dollars per 10^18 wei with 18 implied decimals, from any served token of the chain that knows it now. */
  usdPerNative(chainId: number): bigint | undefined;
};

export function priced(price: Price): PriceAnswer {
  return { ok: true, price };
}

export function refused(refusal: PriceRefusal): RefusedPrice {
  return { ok: false, refusal };
}

/** A refusal that says in words what is wrong with the answer of `source`: the rest of a sentence that it begins. */
export function faulty(source: string, reason: DetailedFault, detail: string): RefusedPrice {
  return refused({ source, reason, detail });
}

/** The price. Throws FEE_TOKEN_UNSUPPORTED with a reason that wallets may read when no price may be used. */
export function requirePrice(token: PricedToken, answer: PriceAnswer): Price {
  if (answer.ok) return answer.price;
  const why = publicRefusal(answer.refusal);
  throw new DomainError('FEE_TOKEN_UNSUPPORTED', `fee token ${token.symbol} has no price now: ${why}`, {
    reason: 'FEE_TOKEN_UNSUPPORTED',
  });
}

/** What anyone may read: `source` and `detail` name hosts, of price services and of nodes. */
function publicRefusal(refusal: PriceRefusal): string {
  switch (refusal.reason) {
    case 'STALE':
      return `its price is ${refusal.ageSeconds} s old, at most ${refusal.maxAgeSeconds} s are accepted`;
    case 'DEVIATION':
      return `its sources are more than ${refusal.maxDeviationPercent} % apart`;
    case 'TOO_FEW':
      return `it has ${refusal.usable} usable sources and needs ${refusal.needed}`;
    case 'JUMP':
      return 'its price is too far below the last one that was accepted';
    case 'DECIMALS_MISMATCH':
      return `the token has ${refusal.found} decimals, its FeeToken says ${refusal.declared}`;
    case 'SYMBOL_MISMATCH':
      return `the token calls itself "${refusal.found}", its FeeToken says "${refusal.declared}"`;
    case 'SEQUENCER_DOWN':
      return 'the sequencer of the chain is down, or was within the last hour';
    case 'UNREACHABLE':
      return 'its source does not answer';
    case 'REVERTED':
    case 'MALFORMED':
    case 'OUT_OF_RANGE':
    case 'INCOMPLETE':
      return 'its source gives no price that may be used';
    default:
      return unreachable(refusal);
  }
}

/** Part of a sentence, with sources and figures: for owners and logs. */
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
    case 'JUMP':
      return `${source} says ${refusal.rate}, and at least ${refusal.least} is accepted after the last price`;
    case 'DECIMALS_MISMATCH':
      return `${source}: the token has ${refusal.found} decimals, its FeeToken says ${refusal.declared}`;
    case 'SYMBOL_MISMATCH':
      return `${source}: the token calls itself "${refusal.found}", its FeeToken says "${refusal.declared}"`;
    case 'UNREACHABLE':
    case 'REVERTED':
    case 'MALFORMED':
    case 'OUT_OF_RANGE':
    case 'INCOMPLETE':
    case 'SEQUENCER_DOWN':
      return `${source} ${refusal.detail}`;
    default:
      return unreachable(refusal);
  }
}

/** If a source's clock is further ahead of ours than this, its price is refused, because we cannot know its age. */
const toleratedAheadMs = 120_000;

/** Refuses an answer whose time is too long ago or in the future; undefined when the answer may be used. */
export function checkAge(
  source: string,
  observedAt: EpochMs,
  maxAgeSeconds: number,
  now: EpochMs,
): RefusedPrice | undefined {
  const ageMs = now - observedAt;
  if (ageMs < -toleratedAheadMs)
    return faulty(
      source,
      'OUT_OF_RANGE',
      `was updated ${Math.ceil(-ageMs / 1000)} s in the future, at most ${toleratedAheadMs / 1000} s are tolerated`,
    );
  // A price of exactly the greatest age is stale: `staleAt` is the first moment at which it is refused.
  if (now < toStaleAt(observedAt, maxAgeSeconds)) return undefined;
  return refused({ source, reason: 'STALE', ageSeconds: Math.floor(ageMs / 1000), maxAgeSeconds });
}

export function toStaleAt(observedAt: EpochMs, maxAgeSeconds: number): EpochMs {
  return plusMs(observedAt, maxAgeSeconds * 1000);
}
