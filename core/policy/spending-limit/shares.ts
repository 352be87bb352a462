import type { LimitConfig } from './spec.js';
import type { AddressKey } from '../../units/address.js';
import { gweiFloor, parseDecimal, parseEther, type Gwei } from '../../units/wei.js';
import { limitCounter } from '../../usage/counter-names.js';
import type { LimitShare, Unit } from '../../usage/usage-store.js';
import { windowAt, type Cycle } from '../../usage/window.js';
import type { EpochMs } from '../../units/time.js';

/** A spending limit with everything precomputed that does not depend on the request: made once per config. */
export type CompiledLimit = Cycle & {
  readonly policyId: string;
  readonly name: string;
  readonly perSender: boolean;
  readonly unit: Unit;
  /** COUNT: operations; NATIVE_ASSET: gwei, rounded down. */
  readonly threshold: number;
  /** The counter of all users in the most recently used window. */
  shared?: { readonly index: number; readonly counter: string };
};

const countScale = 18;

/** Compiles limits in their order. Throws RangeError for a threshold that is not plain decimal text. */
export function compileLimits(limits: readonly LimitConfig[]): readonly CompiledLimit[] {
  return limits.map((limit) => ({
    policyId: limit.policyId,
    name: limit.name,
    startMs: limit.startMs,
    durationMs: limit.durationMs,
    threshold: thresholdOf(limit),
    unit: limit.thresholdType,
    perSender: limit.scope === 'SMART_ACCOUNT',
  }));
}

/**
 * What an operation takes from each limit, in the order of `limits`, in the window of `now`: 1 from a COUNT limit,
 * its maximum cost from a NATIVE_ASSET limit. Runs once per sponsorship.
 */
export function limitShares(
  limits: readonly CompiledLimit[],
  sender: AddressKey,
  maxCost: Gwei,
  now: EpochMs,
): readonly LimitShare[] {
  return limits.map((limit) => {
    const window = windowAt(limit, now);
    return {
      counter: limit.perSender
        ? limitCounter(limit, window.index, sender)
        : sharedCounter(limit, window.index),
      unit: limit.unit,
      window,
      threshold: limit.threshold,
      cost: limit.unit === 'COUNT' ? 1 : maxCost,
      enforce: true,
    };
  });
}

/** All users share this name until the window turns. It is made once, so that Maps need not hash it again. */
function sharedCounter(limit: CompiledLimit, index: number): string {
  if (limit.shared?.index !== index) limit.shared = { index, counter: limitCounter(limit, index, '') };
  return limit.shared.counter;
}

/** Rounds down: the remaining part of an operation or of a gwei cannot pay for anything. */
function thresholdOf({ thresholdType, threshold }: LimitConfig): number {
  if (thresholdType === 'NATIVE_ASSET') return gweiFloor(parseEther(threshold));
  const count = parseDecimal(threshold, countScale) / 10n ** BigInt(countScale);
  return count > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(count);
}
