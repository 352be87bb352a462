import type { LimitConfig } from './schema.js';
import { counterOfSender, limitCounter } from '../../usage/counter-names.js';
import { priceStale } from '../share-texts.js';
import { parseThreshold, unitRow, type Unit } from '../../usage/units.js';
import type { Taken } from '../../usage/unit.js';
import { limitWindowAt, type LimitCycle, type LimitWindow } from '../../usage/limit-window.js';
import { contains } from '../../usage/window.js';
import { given } from '../../units/given.js';
import type { EpochMs } from '../../units/time.js';
import type { PolicyIdentity, PolicyShare, ShareRequest } from '../kind.js';

/** A spending limit with everything precomputed that does not depend on the request: made once per config. */
export type CompiledLimit = PolicyIdentity &
  LimitCycle & {
    readonly perSender: boolean;
    readonly isBudget?: true;
    /** Begins the names of its counters. */
    readonly counts: string;
    readonly unit: Unit;
    /** As the unit counts, rounded down. */
    readonly threshold: number;
    /** The most recently used window, and the counter of all users in it. */
    last?: { readonly window: LimitWindow; readonly counter: string };
  };

/** Compiles limits in their order. Throws RangeError for a threshold that is not plain decimal text. */
export function compileLimits(limits: readonly LimitConfig[]): readonly CompiledLimit[] {
  return limits.map((limit) => ({
    policyId: limit.policyId,
    name: limit.name,
    ...(limit.budget === true ? { isBudget: true } : {}),
    counts: countsAs(limit),
    startMs: limit.startMs,
    ...given({
      shadow: limit.shadow,
      campaign: limit.campaign,
      durationMs: limit.durationMs,
      calendar: limit.calendar,
    }),
    threshold: Math.max(0, parseAmount(limit, limit.threshold) - parseAmount(limit, readAssumed(limit))),
    unit: limit.thresholdType,
    perSender: limit.scope === 'SMART_ACCOUNT',
  }));
}

/**
 * What an operation takes from each limit, in the order of `limits`, in the window of `now`. Runs once per sponsorship. Throws
 * UNAVAILABLE (PRICE_STALE) when a limit cannot count for lack of a price; one in Shadow
 * counts nothing then.
 */
export function limitShares(
  limits: readonly CompiledLimit[],
  { sender, cost, now }: ShareRequest,
): readonly PolicyShare[] {
  // Of a unit all limits take the same.
  const takes = new Map<Unit, Taken | undefined>();
  return limits.map((limit) => {
    if (!takes.has(limit.unit)) takes.set(limit.unit, unitRow(limit.unit).take(cost));
    const taken = takes.get(limit.unit);
    if (taken === undefined && limit.shadow !== true) throw priceStale(limit.name);
    const { window, counter } = findCurrent(limit, now);
    return {
      counter: limit.perSender ? counterOfSender(counter, sender) : counter,
      unit: limit.unit,
      window,
      threshold: limit.threshold,
      ...(taken ?? nothing),
      enforce: limit.shadow !== true,
      policy: limit,
    };
  });
}

const nothing = { cost: 0 } as const;

/**
 * All users share this counter until the window turns. It is named once, so that Maps need not hash it again, and calendars are not
 * asked for each request.
 */
function findCurrent(limit: CompiledLimit, now: EpochMs): NonNullable<CompiledLimit['last']> {
  if (limit.last !== undefined && contains(limit.last.window, now)) return limit.last;
  const window = findLimitWindow(limit, now);
  return (limit.last = { window, counter: limitCounter(limit.counts, window) });
}

/**
 * A budget's `restartedAt` is judged when an operation is, not when the budget is compiled: all paymasters turn to the new counter at
 * once. A month that began after it is the same month without it, so that removing the field begins nothing anew.
 */
export function findLimitWindow(limit: CompiledLimit, now: EpochMs): LimitWindow {
  const window = limitWindowAt(limit, now);
  if (limit.isBudget !== true) return window;
  const { startMs, calendar } = limit;
  const unstarted = limitWindowAt({ ...limit, startMs: 0 as EpochMs }, now);
  if (startMs > now) {
    const { until } = unstarted;
    // Who takes the restart back wants the former count.
    return { ...unstarted, until: startMs < until ? startMs : until, keptUntil: until };
  }
  return calendar !== undefined && window.from > startMs ? unstarted : window;
}

/** A budget with a duration begins anew when it is edited. No status records that, so the counter's name has its amount and length. */
function countsAs({ policyId, budget, durationMs, threshold }: LimitConfig): string {
  return budget === true && durationMs !== undefined ? `${policyId}/${durationMs}/${threshold}` : policyId;
}

/** Of an endless limit. One that was made a calendar limit since then remembers it, for the case that it is made endless again. */
function readAssumed({ calendar, assumeUsed = '0' }: LimitConfig): string {
  return calendar === undefined ? assumeUsed : '0';
}

function parseAmount({ thresholdType }: LimitConfig, text: string): number {
  return parseThreshold(thresholdType, text);
}
