import { quote } from '../../errors.js';
import { cycleUnits, maxCycleValue, parseInstant } from '../../units/time.js';
import { calendarUnits, isTimeZone } from '../../usage/calendar.js';
import { unitNames, units } from '../../usage/units.js';
import type { SpendingLimitSpec } from './spec.js';
import { expectedOf, isAmount, isThreshold } from './threshold.js';

/**
 * What is wrong with a limit, as a sentence: what schemas cannot tell, and what not every store checks. `at`: the fields that the
 * sentence names.
 */
export function limitProblem(
  limit: Omit<SpendingLimitSpec, 'scope'>,
  at: { readonly cycle: string; readonly threshold: string },
): string | undefined {
  const { cycleDuration, calendar, never, assumeUsed, thresholdType, threshold, perOperation } = limit;
  const cycles = [cycleDuration, calendar, never].filter((each) => each !== undefined).length;
  if (threshold === undefined && perOperation === undefined)
    return `${at.cycle} must have threshold, perOperation, or both.`;
  if (threshold === undefined && cycles !== 0)
    return `${at.cycle} must have no cycleDuration, calendar or never without threshold.`;
  if (threshold !== undefined && cycles !== 1)
    return `${at.cycle} must have exactly one of cycleDuration, calendar and never.`;
  const { value, unit } = cycleDuration ?? { value: 1, unit: 'day' };
  if (!Object.hasOwn(cycleUnits, unit))
    return `${at.cycle}.cycleDuration.unit must be "hour" or "day", got ${quote(unit)}.`;
  if (!Number.isInteger(value) || value < 1 || value > maxCycleValue[unit])
    return `${at.cycle}.cycleDuration.value must be a whole number from 1 to ${maxCycleValue[unit]}, got ${quote(value)}.`;
  if (calendar !== undefined && !calendarUnits.includes(calendar.every))
    return `${at.cycle}.calendar.every must be one of ${calendarUnits.join(', ')}, got ${quote(calendar.every)}.`;
  if (calendar !== undefined && !isTimeZone(calendar.timeZone))
    return `${at.cycle}.calendar.timeZone must be the name of a time zone such as Europe/Berlin, got ${quote(calendar.timeZone)}.`;
  if (limit.restartedAt !== undefined && parseInstant(limit.restartedAt) === undefined)
    return `${at.cycle}.restartedAt must be an RFC 3339 time, got ${quote(limit.restartedAt)}.`;
  if (limit.startTime !== undefined && parseInstant(limit.startTime) === undefined)
    return `${at.cycle}.startTime must be an RFC 3339 time, got ${quote(limit.startTime)}.`;
  if (!Object.hasOwn(units, thresholdType))
    return `${at.cycle}.thresholdType must be one of ${unitNames.join(', ')}, got ${quote(thresholdType)}.`;
  if (assumeUsed !== undefined && !isThreshold(assumeUsed, thresholdType))
    return `${at.cycle}.assumeUsed must be ${expectedOf(thresholdType)}, got ${quote(assumeUsed)}.`;
  if (perOperation !== undefined && !isAmount(thresholdType))
    return `${at.cycle}.perOperation must be left out when thresholdType is ${thresholdType}, got ${quote(perOperation)}.`;
  if (perOperation !== undefined && !isThreshold(perOperation, thresholdType))
    return `${at.cycle}.perOperation must be ${expectedOf(thresholdType)}, got ${quote(perOperation)}.`;
  return threshold === undefined || isThreshold(threshold, thresholdType)
    ? undefined
    : `${at.threshold} must be ${expectedOf(thresholdType)}, got ${quote(threshold)}.`;
}
