import { DomainError } from '../errors.js';
import type { EpochMs } from '../units/time.js';
import type { PeekResult, ReserveRequest, ReserveResult } from './reserve-request.js';
import type { DecidingUsage } from './usage-store.js';

/**
 * A window can turn while a request is being planned. If that happens more often than this, the store's clock is
 * unreliable.
 */
const maxPlans = 3;

type Turned = Extract<ReserveResult, { outcome: 'turned' }>;

/** The request that was decided, and the verdict. */
export type Reserved<R extends ReserveRequest = ReserveRequest> = {
  readonly request: R;
  /** The store's time that it was planned for. */
  readonly now: EpochMs;
  readonly result: Exclude<ReserveResult, Turned>;
};
export type Peeked<R extends ReserveRequest = ReserveRequest> = Reserved<R> & { readonly peeked: PeekResult };

/**
 * Reserves what `build` plans for the store's time, and plans again when a window has turned. Throws what `reserve`
 * throws, and UNAVAILABLE (USAGE_STORE_CLOCK) when the store's clock is not steady.
 */
export function reserve<R extends ReserveRequest>(
  usage: Pick<DecidingUsage, 'now' | 'reserve'>,
  build: (now: EpochMs) => R,
): PromiseLike<Reserved<R>> {
  const ask = (now: EpochMs, plan: number): PromiseLike<Reserved<R>> => {
    const request = build(now);
    return usage.reserve(request).then((result) => {
      if (result.outcome !== 'turned') return { request, now, result };
      if (plan === maxPlans) throw unsteady();
      return ask(result.now, plan + 1);
    });
  };
  return ask(usage.now(), 1);
}

/** As {@link reserve}, without reserving. */
export async function peek<R extends ReserveRequest>(
  usage: Pick<DecidingUsage, 'now' | 'peek'>,
  build: (now: EpochMs) => R,
): Promise<Peeked<R>> {
  let now = usage.now();
  for (let plan = 1; plan <= maxPlans; plan++) {
    const request = build(now);
    const peeked = await usage.peek(request);
    const { result } = peeked;
    if (result.outcome !== 'turned') return { request, now, result, peeked };
    now = result.now;
  }
  throw unsteady();
}

function unsteady(): DomainError {
  return new DomainError('UNAVAILABLE', 'the clock of the usage store is not steady', {
    reason: 'USAGE_STORE_CLOCK',
    retryAfterSeconds: 1,
  });
}
