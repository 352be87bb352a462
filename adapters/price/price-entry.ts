import { refused, type Price, type PriceAnswer, type PriceSource } from '../../core/pricing/price-source.js';
import type { FeeTokenSpec } from '../../core/pricing/fee-token-spec.js';
import type { EpochMs } from '../../core/units/time.js';

/** What is known of one token's price. */
export class PriceEntry {
  readonly token: FeeTokenSpec;
  readonly source: PriceSource;
  /** False once nobody serves the token any more: whoever asks for it again begins afresh. */
  isServed = true;
  /** What requests get; undefined before the first read. */
  answer: PriceAnswer | undefined;
  /** When the read began that `answer` stems from, or that failed and left it standing. */
  askedAt = -Infinity;
  /** The read under way. */
  flight: Promise<PriceAnswer> | undefined;
  /** The last price that a source gave, and when it was asked. */
  lastPrice: { readonly price: Price; readonly askedAt: EpochMs } | undefined;

  constructor(token: FeeTokenSpec, source: PriceSource) {
    this.token = token;
    this.source = source;
  }

  /** True also when the clock was set back since: how old the answer is cannot be told then. */
  isOlder(ms: number, now: EpochMs): boolean {
    const age = now - this.askedAt;
    return age < 0 || age >= ms;
  }

  /**
   * Takes what a read found. An outage leaves the last price standing for `graceMs` after it was asked for: the host may
   * only be restarting. Answers whether usability, reason or source are others than before.
   */
  take(
    read: PriceAnswer,
    { askedAt, now, graceMs }: { readonly askedAt: EpochMs; readonly now: EpochMs; readonly graceMs: number },
  ): { readonly answer: PriceAnswer; readonly isNews: boolean } {
    const before = this.answer;
    if (read.ok) this.lastPrice = { price: read.price, askedAt };
    const isOutage = !read.ok && read.refusal.reason === 'UNREACHABLE';
    const last = this.lastPrice;
    const lastAge = last === undefined ? Infinity : now - last.askedAt;
    const isKept = isOutage && last !== undefined && lastAge >= 0 && lastAge < graceMs;
    const answer = judgePrice(isKept ? { ok: true, price: last.price } : read, now);
    this.answer = answer;
    this.askedAt = askedAt;
    return { answer, isNews: before === undefined || gist(before) !== gist(answer) };
  }
}

/** The answer as it stands now: a price ages while it lies in the cache. */
export function judgePrice(answer: PriceAnswer, now: EpochMs): PriceAnswer {
  if (!answer.ok) return answer;
  const { staleAt, observedAt, source } = answer.price;
  if (staleAt === undefined || now < staleAt) return answer;
  return refused({
    source,
    reason: 'STALE',
    ageSeconds: Math.floor((now - observedAt) / 1000),
    maxAgeSeconds: (staleAt - observedAt) / 1000,
  });
}

/** What a report says of an answer; figures move all the time and are no news. */
function gist(answer: PriceAnswer): string {
  return answer.ok ? 'ok' : `${answer.refusal.reason} ${answer.refusal.source}`;
}
