import type { Enforcement } from '../../meta/schema-parts.js';
import { given } from '../../units/given.js';
import { cycleUnits, parseInstant, type EpochMs } from '../../units/time.js';
import { limitProblem } from './problem.js';
import type { LimitConfig, SpendingLimitSpec } from './spec.js';

/** Bounds what all paymasters of the organisation sponsor on one chain together. */
export type Budget = {
  readonly name: string;
  readonly chain: number;
  /** Exact decimal text. */
  readonly usd: string;
  /** Absent: Enforce. */
  readonly enforcement?: Enforcement;
  /** RFC 3339. Another time than before starts the count anew. */
  readonly restartedAt?: string;
  /** How much of an endless budget counts as used since `restartedAt`. */
  readonly assumeUsed?: string;
} & Pick<SpendingLimitSpec, 'cycleDuration' | 'calendar' | 'never'>;

/** What is wrong with a budget, as a sentence. `where`: its place in the spec. */
export function budgetProblem({ usd, ...cycle }: Budget, where: string): string | undefined {
  const at = { cycle: where, threshold: `${where}.usd` };
  return limitProblem({ ...cycle, threshold: usd, thresholdType: 'USD' }, at);
}

/**
 * All that decides where it counts is in its spec: paymasters are compiled one by one, and have to agree. So no
 * Organisation that is made again restarts it. `assumeUsed` counts at once, also before `restartedAt` has come: too little is spent then, never too much.
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
