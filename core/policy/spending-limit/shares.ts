import type { LimitConfig } from './spec.js';
import { limitCounter } from '../../usage/counter-names.js';
import { priceStale } from './texts.js';
import { parseThreshold, unitOf, type Unit } from '../../usage/units.js';
import { windowAt, type Cycle } from '../../usage/window.js';
import type { PolicyIdentity, PolicyShare, ShareRequest } from '../kind.js';

/** A spending limit with everything precomputed that does not depend on the request: made once per config. */
export type CompiledLimit = PolicyIdentity &
  Cycle & {
    readonly perSender: boolean;
    readonly unit: Unit;
    /** As the unit counts, rounded down. */
    readonly threshold: number;
    /** The counter of all users in the most recently used window. */
    shared?: { readonly index: number; readonly counter: string };
  };

/** Compiles limits in their order. Throws RangeError for a threshold that is not plain decimal text. */
export function compileLimits(limits: readonly LimitConfig[]): readonly CompiledLimit[] {
  return limits.map((limit) => ({
    policyId: limit.policyId,
    name: limit.name,
    startMs: limit.startMs,
    durationMs: limit.durationMs,
    threshold: parseThreshold(limit.thresholdType, limit.threshold),
    unit: limit.thresholdType,
    perSender: limit.scope === 'SMART_ACCOUNT',
  }));
}

/**
 * What an operation takes from each limit, in the order of `limits`, in the window of `now`. Runs once per sponsorship. Throws
 * UNAVAILABLE (PRICE_STALE) when a limit cannot count, because there is no price.
 */
export function limitShares(
  limits: readonly CompiledLimit[],
  { sender, cost, now }: ShareRequest,
): readonly PolicyShare[] {
  return limits.map((limit) => {
    const window = windowAt(limit, now);
    const taken = unitOf(limit.unit).take(cost);
    if (taken === undefined) throw priceStale(limit.name);
    return {
      counter: limit.perSender
        ? limitCounter(limit, window.index, sender)
        : sharedCounter(limit, window.index),
      unit: limit.unit,
      window,
      threshold: limit.threshold,
      ...taken,
      enforce: true,
      policy: limit,
    };
  });
}

/** All users share this name until the window turns. It is made once, so that Maps need not hash it again. */
function sharedCounter(limit: CompiledLimit, index: number): string {
  if (limit.shared?.index !== index) limit.shared = { index, counter: limitCounter(limit, index, '') };
  return limit.shared.counter;
}
