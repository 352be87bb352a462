import { refused, type Price, type PriceAnswer, type PriceSource } from '../../core/pricing/price-source.js';
import type { PriceReference } from '../../core/pricing/price-jump.js';
import type { FeeTokenSpec } from '../../core/pricing/fee-token-spec.js';
import type { EpochMs } from '../../core/units/time.js';

/** The known price of one token. */
export class PriceEntry {
  readonly token: FeeTokenSpec;
  readonly source: PriceSource;
  /** False once nobody serves the token any longer; the next request for it makes a new entry. */
  isServed = true;
  /** The answer for requests; undefined before the first read. */
  answer: PriceAnswer | undefined;
  /** When the read began that gave `answer`, or that failed and kept it. */
  askedAt = -Infinity;
  /** The running read. */
  flight: Promise<PriceAnswer> | undefined;
  /** The last price that a source gave, and when it was asked. */
  lastPrice: { readonly price: Price; readonly askedAt: EpochMs } | undefined;
  /** The last accepted price as this process knows it, for when the store does not answer. */
  reference: PriceReference | undefined;

  constructor(token: FeeTokenSpec, source: PriceSource) {
    this.token = token;
    this.source = source;
  }

  /** Also true when the clock was set back since: then the age of the answer is unknown. */
  isOlder(ms: number, now: EpochMs): boolean {
    const age = now - this.askedAt;
    return age < 0 || age >= ms;
  }

  /**
   * Takes the result of a read. During an outage the last price stays for `graceMs` after it was asked for: the host
   * may only be restarting. `isNews` says whether usability, reason or source have changed.
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
    const answer = checkPrice(isKept ? { ok: true, price: last.price } : read, now);
    this.answer = answer;
    this.askedAt = askedAt;
    return { answer, isNews: before === undefined || gist(before) !== gist(answer) };
  }
}

/** The answer as of now: a price ages while it is in the cache. */
export function checkPrice(answer: PriceAnswer, now: EpochMs): PriceAnswer {
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

/** The part of an answer that is worth reporting: figures move all the time and are not news. */
function gist(answer: PriceAnswer): string {
  return answer.ok ? 'ok' : `${answer.refusal.reason} ${answer.refusal.source}`;
}
