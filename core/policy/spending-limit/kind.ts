import { parseInstant, type EpochMs } from '../../units/time.js';
import { given } from '../../units/given.js';
import { needsPrice } from '../../usage/units.js';
import { column } from '../../meta/schema-parts.js';
import type { PolicyIdentity, PolicyKind } from '../kind.js';
import { cycleOf, decideCycle } from './cycle.js';
import { limitProblem } from './problem.js';
import { limitRecord, type LimitBody } from './record.js';
import { spendingLimitSchema } from './schema.js';
import { compileLimits, limitShares, type CompiledLimit } from './shares.js';
import type { CycleStatus, LimitConfig, SpendingLimitSpec } from './spec.js';

/** A limit per cycle. The usage store decides it, because it counts the usage. */
export const spendingLimit = {
  member: 'spendingLimit',
  schema: spendingLimitSchema,
  most: { count: 20, name: 'spending limits' },
  columns: [column('Threshold', 'string', '.spec.spendingLimit.threshold', 'Limit per cycle.', 1)],
  problem: (limit) =>
    limitProblem(limit, { cycle: 'spec.spendingLimit', threshold: 'spec.spendingLimit.threshold' }),
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
