import type { LimitConfig } from './spec.js';
import type { AddressKey } from '../../units/address.js';
import { gweiFloor, parseDecimal, parseEther, type Gwei } from '../../units/wei.js';
import { limitCounter } from '../../usage/counter-names.js';
import type { LimitShare, Unit } from '../../usage/usage-store.js';
import { windowAt, type Cycle } from '../../usage/window.js';
import type { EpochMs } from '../../units/time.js';

/** A spending limit with everything computed that does not depend on the request: made once per config. */
export type CompiledLimit = Cycle & {
  readonly policyId: string;
  readonly name: string;
  readonly perSender: boolean;
  readonly unit: Unit;
  /** COUNT: operations; NATIVE_ASSET: gwei, rounded down. */
  readonly threshold: number;
  /** The counter of all users in the window that was asked for last. */
  shared?: { readonly index: number; readonly counter: string };
};

const countScale = 18;

/** Compiles limits in their order; a threshold that is not plain decimal text throws RangeError. */
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
 * What an operation takes from each limit, in the order of `limits`: 1 of a COUNT, its maximum cost of a NATIVE_ASSET, in the
 * window of `now`. Runs once per sponsorship.
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

/** Its name is the same for everybody until the window turns: made once, and found in maps by a hash that is known already. */
function sharedCounter(limit: CompiledLimit, index: number): string {
  if (limit.shared?.index !== index) limit.shared = { index, counter: limitCounter(limit, index, '') };
  return limit.shared.counter;
}

/** Rounds down: a part of an operation or of a gwei that is left over can pay for nothing. */
function thresholdOf({ thresholdType, threshold }: LimitConfig): number {
  if (thresholdType === 'NATIVE_ASSET') return gweiFloor(parseEther(threshold));
  const count = parseDecimal(threshold, countScale) / 10n ** BigInt(countScale);
  return count > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(count);
}
