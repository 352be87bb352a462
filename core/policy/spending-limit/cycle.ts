import type { CycleStatus, SpendingLimitSpec, LimitConfig } from './spec.js';
import { cycleUnits, formatInstant, parseInstant, type EpochMs } from '../../units/time.js';

/**
 * The cycle in force for a limit as it is now.
 *
 * ```
 * made again within its window      → goes on
 * startTime new or changed          → starts at startTime
 * else a field of the limit changed → starts now, the first time that this is seen
 * else                              → goes on
 * ```
 * `served` is the limit as it is served. If a change was served before its status could be written (a crash, or a
 * cache that lags behind our own write), it must not start the cycle a second time. `lasting` is the cycle that the
 * name had when its object was deleted. A limit with the same fields is the same limit, whatever startTime it is made
 * again with.
 */
export function decideCycle(
  spec: SpendingLimitSpec,
  recorded: CycleStatus | undefined,
  served: LimitConfig | undefined,
  now: EpochMs,
  lasting?: CycleStatus,
): CycleStatus {
  const wanted = {
    durationMs: durationOf(spec),
    scope: spec.scope,
    threshold: spec.threshold,
    thresholdType: spec.thresholdType,
    ...(spec.startTime === undefined ? {} : { specStartTime: spec.startTime }),
  };
  if (lasting !== undefined && isSameLimit(lasting, wanted))
    return { startTime: lasting.startTime, ...wanted };
  const startTime =
    spec.startTime === recorded?.specStartTime ? undefined : parseInstant(spec.startTime ?? '');
  if (startTime !== undefined) return { startTime: formatInstant(startTime), ...wanted };
  if (recorded !== undefined && isSameLimit(recorded, wanted))
    return isRecordedAs(recorded, wanted) ? recorded : { startTime: recorded.startTime, ...wanted };
  if (served !== undefined && isSameLimit(served, wanted))
    return { startTime: formatInstant(served.startMs), ...wanted };
  return { startTime: formatInstant(now), ...wanted };
}

/** Length of a cycle in milliseconds. */
function durationOf({ cycleDuration }: Pick<SpendingLimitSpec, 'cycleDuration'>): number {
  return cycleDuration.value * cycleUnits[cycleDuration.unit];
}

type LimitFields = Pick<LimitConfig, 'durationMs' | 'scope' | 'threshold' | 'thresholdType'>;

function isSameLimit(a: LimitFields, b: LimitFields): boolean {
  return (
    a.durationMs === b.durationMs &&
    a.scope === b.scope &&
    a.threshold === b.threshold &&
    a.thresholdType === b.thresholdType
  );
}

// Removing startTime from the spec removes it from the record too: adding the same value again counts as new.
function isRecordedAs(recorded: CycleStatus, wanted: { readonly specStartTime?: string }): boolean {
  return recorded.specStartTime === wanted.specStartTime;
}
