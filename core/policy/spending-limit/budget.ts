import { given } from '../../units/given.js';
import { cycleUnits, parseInstant, type EpochMs } from '../../units/time.js';
import type { PolicyBudgets } from '../kind.js';
import { limitProblem } from './problem.js';
import type { LimitConfig } from './spec.js';

/**
 * A budget is a limit in dollars. All that decides where it counts is in its spec: paymasters are compiled one by one, and have to agree.
 * So no Organisation that is made again restarts it. `assumeUsed` counts at once, also before `restartedAt` has come: too little is spent then, never too much.
 */
export const budgets = {
  problem({ usd, ...cycle }, where) {
    const at = { cycle: where, threshold: `${where}.usd` };
    return limitProblem({ ...cycle, threshold: usd, thresholdType: 'USD' }, at);
  },
  compile({ name, usd, cycleDuration, calendar, restartedAt, assumeUsed, enforcement }, policyId) {
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
  },
} as const satisfies PolicyBudgets<LimitConfig>;
