import { quote } from '../../errors.js';
import type { Enforcement } from '../../meta/schema-parts.js';
import { given } from '../../units/given.js';
import { cycleUnits, parseInstant, type EpochMs } from '../../units/time.js';
import { isTimeZone } from '../../usage/calendar.js';
import type { LimitConfig, SpendingLimitSpec } from './spec.js';
import { isThreshold } from './threshold.js';

/** Bounds what all paymasters of the organisation sponsor on one chain together. */
export type Budget = {
  readonly name: string;
  readonly chain: number;
  /** Exact decimal text. */
  readonly usd: string;
  /** Absent: Enforce. */
  readonly enforcement?: Enforcement;
  /** RFC 3339. Another time than before starts the count anew, at once. */
  readonly restartedAt?: string;
  /** How much of an endless budget counts as used since `restartedAt`. */
  readonly assumeUsed?: string;
} & Pick<SpendingLimitSpec, 'cycleDuration' | 'calendar' | 'never'>;

/** What is wrong with a budget, as the end of a sentence: what schemas cannot tell, and what not every store checks. */
export function budgetProblem({ usd, calendar, restartedAt, ...cycles }: Budget): string | undefined {
  if (!isThreshold(usd, 'USD')) return `usd must be an amount of US dollars such as "500", got ${quote(usd)}`;
  if ([calendar, cycles.cycleDuration, cycles.never].filter((each) => each !== undefined).length !== 1)
    return 'must have exactly one of cycleDuration, calendar and never';
  if (calendar !== undefined && !isTimeZone(calendar.timeZone))
    return `calendar.timeZone must be the name of a time zone such as Europe/Berlin, got ${quote(calendar.timeZone)}`;
  return restartedAt === undefined || parseInstant(restartedAt) !== undefined
    ? undefined
    : `restartedAt must be an RFC 3339 time, got ${quote(restartedAt)}`;
}

/**
 * All that decides where it counts is in its spec: paymasters are compiled one by one, and have to agree. So an edit restarts
 * nothing, and neither does an Organisation that is made again.
 */
export function limitOfBudget(
  { name, usd, cycleDuration, calendar, restartedAt, assumeUsed, enforcement }: Budget,
  policyId: string,
): LimitConfig {
  return {
    policyId,
    name,
    budget: true,
    scope: 'PAYMASTER',
    threshold: usd,
    thresholdType: 'USD',
    startMs: parseInstant(restartedAt ?? '') ?? (0 as EpochMs),
    ...given({
      durationMs: cycleDuration && cycleDuration.value * cycleUnits[cycleDuration.unit],
      calendar,
      assumeUsed,
      shadow: enforcement === 'Shadow' ? (true as const) : undefined,
    }),
  };
}
