import type { CountedSpec, CycleStatus, SpendingLimitSpec, LimitConfig } from './schema.js';
import { given } from '../../units/given.js';
import { cycleUnits, formatInstant, parseInstant, plusMs, type EpochMs } from '../../units/time.js';

/** Clocks differ: a time that is further ahead than this has no effect yet. */
const toleratedAheadMs = 60_000;

/**
 * The cycle in force for a limit as it is now. `served` is the limit as it is served. If a change was served before its status could be
 * written (a crash, or a cache that lags behind our own write), it must not start the cycle a second time. `lasting` is the cycle
 * that the name had when its object was deleted.
 */
export function decideCycle(
  spec: CountedSpec,
  recorded: CycleStatus | undefined,
  served: LimitConfig | undefined,
  now: EpochMs,
  lasting?: CycleStatus,
): CycleStatus {
  return spec.cycleDuration === undefined
    ? decideStanding(spec, latest([recorded, lasting, served && toCycleStatus(served)]), now)
    : decideDuration({ ...spec, cycleDuration: spec.cycleDuration }, recorded, served, now, lasting);
}

/**
 * ```
 * made again within its window      → goes on
 * startTime new or changed          → starts at startTime
 * else a field of the limit changed → starts now, the first time that this is seen
 * else                              → goes on
 * ```
 * A limit with the same fields is the same limit, whatever startTime it is made again with. With `keepCount` the threshold is not one
 * of them.
 */
function decideDuration(
  spec: CountedSpec & Required<Pick<SpendingLimitSpec, 'cycleDuration'>>,
  recorded: CycleStatus | undefined,
  served: LimitConfig | undefined,
  now: EpochMs,
  lasting?: CycleStatus,
): CycleStatus {
  const wanted = {
    durationMs: toDurationMs(spec),
    scope: spec.scope,
    threshold: spec.threshold,
    thresholdType: spec.thresholdType,
    ...(spec.startTime === undefined ? {} : { specStartTime: spec.startTime }),
  };
  const goesOn = (known: CycleStatus | undefined): boolean =>
    known !== undefined &&
    isSameLimit(known, spec.keepCount === true ? { ...wanted, threshold: known.threshold } : wanted);
  if (lasting !== undefined && goesOn(lasting)) return { startTime: lasting.startTime, ...wanted };
  const startTime =
    spec.startTime === recorded?.specStartTime ? undefined : parseInstant(spec.startTime ?? '');
  if (startTime !== undefined) return { startTime: formatInstant(startTime), ...wanted };
  // A status that could not be written yet records an older cycle, whose count is not the present one.
  const going = lastBegun([recorded, served && toCycleStatus(served)].filter(goesOn));
  if (going === undefined) return { startTime: formatInstant(now), ...wanted };
  return isSameLimit(going, wanted) && isRecordedAs(going, wanted)
    ? going
    : { startTime: going.startTime, ...wanted };
}

/**
 * A calendar or an endless limit: its count goes on whatever is changed, and starts anew by a later `restartedAt`, or by a new
 * `assumeUsed`. An earlier time than before, or none, brings no former count back.
 */
function decideStanding(spec: CountedSpec, known: CycleStatus | undefined, now: EpochMs): CycleStatus {
  const begun = parseInstant(known?.startTime ?? '');
  const restarted = findRestart(spec, now);
  const isAnew = restarted !== undefined && restarted > (begun ?? -Infinity);
  // Otherwise three operations that were assumed would become three coins.
  const isSameUnit = known?.thresholdType === spec.thresholdType;
  const isAssumed = isSameUnit && spec.assumeUsed === known.specAssumeUsed;
  const assumes = spec.assumeUsed !== undefined && !isAssumed;
  const kept = isAnew ? restarted : (begun ?? now);
  // Later than before, so that the counter is another one.
  const startMs = assumes ? (Math.max(now, kept, (begun ?? 0) + 1) as EpochMs) : kept;
  const assumeUsed = assumes ? spec.assumeUsed : isAnew || !isSameUnit ? undefined : known.assumeUsed;
  const wanted: CycleStatus = {
    startTime: formatInstant(startMs),
    scope: spec.scope,
    threshold: spec.threshold,
    thresholdType: spec.thresholdType,
    ...given({ calendar: spec.calendar, assumeUsed, specAssumeUsed: spec.assumeUsed }),
  };
  return known !== undefined && isEqual(known, wanted) ? known : wanted;
}

function findRestart(
  { restartedAt }: Pick<SpendingLimitSpec, 'restartedAt'>,
  now: EpochMs,
): EpochMs | undefined {
  const at = parseInstant(restartedAt ?? '');
  return at === undefined || at > plusMs(now, toleratedAheadMs) ? undefined : at;
}

export function toCycleStatus(served: LimitConfig): CycleStatus {
  const { policyId: _, name: __, startMs, ...terms } = served;
  return { ...terms, startTime: formatInstant(startMs) };
}

/** Of the calendar or endless cycles that are known, the last one. */
function latest(known: readonly (CycleStatus | undefined)[]): CycleStatus | undefined {
  return lastBegun(known.filter((each) => each?.durationMs === undefined));
}

/** The cycle that began last: a start that was served is never taken back. */
function lastBegun(known: readonly (CycleStatus | undefined)[]): CycleStatus | undefined {
  return known.reduce(
    (a, b) => (b !== undefined && (a === undefined || b.startTime > a.startTime) ? b : a),
    undefined,
  );
}

/** Length of a cycle in milliseconds. */
function toDurationMs({ cycleDuration }: Required<Pick<SpendingLimitSpec, 'cycleDuration'>>): number {
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

function isEqual(a: CycleStatus, b: CycleStatus): boolean {
  return (
    isSameLimit(a, b) &&
    isRecordedAs(a, b) &&
    a.startTime === b.startTime &&
    a.assumeUsed === b.assumeUsed &&
    a.specAssumeUsed === b.specAssumeUsed &&
    a.calendar?.every === b.calendar?.every &&
    a.calendar?.timeZone === b.calendar?.timeZone
  );
}

// Removing startTime from the spec removes it from the record too: adding the same value again counts as new.
function isRecordedAs(recorded: CycleStatus, wanted: { readonly specStartTime?: string }): boolean {
  return recorded.specStartTime === wanted.specStartTime;
}
