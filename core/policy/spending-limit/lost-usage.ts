import type { EpochMs } from '../../units/time.js';
import { formatInstant } from '../../units/time.js';
import { never } from '../../usage/window.js';
import { compileLimits, findLimitWindow } from './shares.js';
import type { LimitConfig } from './schema.js';

/** A limit that refuses everything, because nobody knows what was used of its present window. */
export type LostLimit = Pick<LimitConfig, 'policyId' | 'name' | 'budget'> & {
  readonly until: EpochMs;
  /** How that ends, for people. */
  readonly text: string;
};

/**
 * The enforced limits whose present window began before `since`, where the usage data of the chain begin. The usage store refuses
 * for them with USAGE_LOST (`core/usage/decide.ts`).
 */
export function lostLimits(
  limits: readonly LimitConfig[],
  since: EpochMs,
  now: EpochMs,
): readonly LostLimit[] {
  return compileLimits(limits).flatMap((limit, index) => {
    const { from, until } = findLimitWindow(limit, now);
    if (from >= since || limit.shadow === true) return [];
    const { policyId, name, budget, durationMs } = limits[index]!;
    const end = until === never ? '' : `until ${formatInstant(until)}, or `;
    const change =
      durationMs === undefined
        ? `until somebody sets its restartedAt to a time after ${formatInstant(since)}: the count begins there`
        : 'until somebody changes its threshold: the count begins anew then';
    return [
      {
        policyId,
        name,
        ...(budget === true ? { budget } : {}),
        until,
        text: `The usage store lost what was used of "${name}": it refuses every operation (USAGE_LOST) ${end}${change}.`,
      },
    ];
  });
}
