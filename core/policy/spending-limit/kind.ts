import { quote } from '../../errors.js';
import { cycleUnits, maxCycleValue, parseInstant, type EpochMs } from '../../units/time.js';
import { calendarUnits, isTimeZone } from '../../usage/calendar.js';
import { given } from '../../units/given.js';
import { needsPrice, unitNames, units } from '../../usage/units.js';
import { column } from '../../meta/schema-parts.js';
import type { PolicyIdentity, PolicyKind } from '../kind.js';
import { cycleOf, decideCycle } from './cycle.js';
import { limitRecord, type LimitBody } from './record.js';
import { spendingLimitSchema } from './schema.js';
import { compileLimits, limitShares, type CompiledLimit } from './shares.js';
import type { CycleStatus, LimitConfig, SpendingLimitSpec } from './spec.js';
import { expectedOf, isThreshold } from './threshold.js';

/** A limit per cycle. The usage store decides it, because it counts the usage. */
export const spendingLimit = {
  member: 'spendingLimit',
  schema: spendingLimitSchema,
  most: { count: 20, name: 'spending limits' },
  columns: [column('Threshold', 'string', '.spec.spendingLimit.threshold', 'Limit per cycle.', 1)],
  problem,
  lacks: ({ thresholdType }, { nativePrice }) =>
    nativePrice === undefined && needsPrice(thresholdType)
      ? `spec.spendingLimit.thresholdType ${thresholdType} needs spec.nativePrice of the Chain, which only the platform sets.`
      : undefined,
  compile({ spec, cycle: recorded, policyId, name }, { served, now, lastingCycle }) {
    const cycle = decideCycle(spec, recorded, served, now, lastingCycle);
    return { config: configOf({ policyId, name }, cycle, now), cycle };
  },
  config: {
    write: (limits) => ({ limits }),
    read: ({ limits }, { policyId }) => limits.find((limit) => limit.policyId === policyId),
    serve: ({ limits }) => ({ limits: compileLimits(limits) }),
    cycles: ({ limits }) =>
      // Nothing restarts a budget but its spec, so nothing of it is remembered.
      limits.flatMap((limit) =>
        limit.budget === true ? [] : [{ policyId: limit.policyId, ...cycleOf(limit) }],
      ),
  },
  counts: {
    modes: ['SPONSORED'],
    policies: ({ limits }) => limits,
    shares: ({ limits }, request) => limitShares(limits, request),
  },
  record: limitRecord,
} as const satisfies PolicyKind<
  SpendingLimitSpec,
  LimitConfig,
  { readonly limits: readonly LimitConfig[] },
  { readonly limits: readonly CompiledLimit[] },
  LimitBody
>;

function configOf({ policyId, name }: PolicyIdentity, cycle: CycleStatus, now: EpochMs): LimitConfig {
  return {
    policyId,
    name,
    scope: cycle.scope,
    thresholdType: cycle.thresholdType,
    threshold: cycle.threshold,
    // Only a status written by someone else could lack a valid time; then the recorded cycle starts now.
    startMs: parseInstant(cycle.startTime) ?? now,
    ...given({
      durationMs: cycle.durationMs,
      calendar: cycle.calendar,
      assumeUsed: cycle.assumeUsed,
      specAssumeUsed: cycle.specAssumeUsed,
    }),
  };
}

function problem(limit: SpendingLimitSpec): string | undefined {
  const { cycleDuration, calendar, never, assumeUsed, thresholdType, threshold } = limit;
  if ([cycleDuration, calendar, never].filter((each) => each !== undefined).length !== 1)
    return 'spec.spendingLimit must have exactly one of cycleDuration, calendar and never.';
  const { value, unit } = cycleDuration ?? { value: 1, unit: 'day' };
  if (!Object.hasOwn(cycleUnits, unit))
    return `spec.spendingLimit.cycleDuration.unit must be "hour" or "day", got ${quote(unit)}.`;
  if (!Number.isInteger(value) || value < 1 || value > maxCycleValue[unit])
    return `spec.spendingLimit.cycleDuration.value must be a whole number from 1 to ${maxCycleValue[unit]}, got ${quote(value)}.`;
  if (calendar !== undefined && !calendarUnits.includes(calendar.every))
    return `spec.spendingLimit.calendar.every must be one of ${calendarUnits.join(', ')}, got ${quote(calendar.every)}.`;
  if (calendar !== undefined && !isTimeZone(calendar.timeZone))
    return `spec.spendingLimit.calendar.timeZone must be the name of a time zone such as Europe/Berlin, got ${quote(calendar.timeZone)}.`;
  if (limit.restartedAt !== undefined && parseInstant(limit.restartedAt) === undefined)
    return `spec.spendingLimit.restartedAt must be an RFC 3339 time, got ${quote(limit.restartedAt)}.`;
  if (limit.startTime !== undefined && parseInstant(limit.startTime) === undefined)
    return `spec.spendingLimit.startTime must be an RFC 3339 time, got ${quote(limit.startTime)}.`;
  if (!Object.hasOwn(units, thresholdType))
    return `spec.spendingLimit.thresholdType must be one of ${unitNames.join(', ')}, got ${quote(thresholdType)}.`;
  if (assumeUsed !== undefined && !isThreshold(assumeUsed, thresholdType))
    return `spec.spendingLimit.assumeUsed must be ${expectedOf(thresholdType)}, got ${quote(assumeUsed)}.`;
  return isThreshold(threshold, thresholdType)
    ? undefined
    : `spec.spendingLimit.threshold must be ${expectedOf(thresholdType)}, got ${quote(threshold)}.`;
}
