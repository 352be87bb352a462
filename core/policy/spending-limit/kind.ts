import { cycleUnits, maxCycleValue, parseInstant, type EpochMs } from '../../units/time.js';
import { given } from '../../units/given.js';
import {
  formatAmount,
  needsPrice,
  parseThreshold,
  unitNames,
  unitRow,
  units,
  type Unit,
} from '../../usage/units.js';
import { column } from '../../meta/schema-parts.js';
import { pass, refuse, type Verdict } from '../../refusal.js';
import type { Glance, GlanceAt, PolicyFacts, PolicyIdentity, PolicyKind } from '../kind.js';
import { toCycleStatus, decideCycle } from './cycle.js';
import { limitRecord, type LimitBody } from './record.js';
import {
  isCounted,
  spendingLimitSchema,
  type CycleStatus,
  type LimitConfig,
  type SpendingLimitSpec,
} from './schema.js';
import { compileLimits, limitShares, type CompiledLimit } from './shares.js';
import { toAddressKey, zeroAddress } from '../../units/address.js';
import { noCost } from '../../usage/unit.js';
import { never } from '../../usage/window.js';
import { decideEach, createGlance, describeVerdict } from '../modes.js';
import { quote } from '../../errors.js';
import { calendarUnits, isTimeZone } from '../../usage/calendar.js';
import { describeThreshold, isAmount, isThreshold } from './threshold.js';
import { priceStale } from '../share-texts.js';

/** One that only bounds each operation has no cycle. */
type AnyLimitConfig = PolicyIdentity &
  (LimitConfig | Pick<LimitConfig, 'thresholdType'>) &
  Partial<Pick<OperationLimitConfig, 'perOperation'>>;
type Limits = {
  readonly limits: readonly LimitConfig[];
  readonly operationLimits?: readonly OperationLimitConfig[];
};
type ServedLimits = {
  readonly limits: readonly CompiledLimit[];
  readonly operationLimits?: readonly OperationLimit[];
};

/** A limit per cycle, which the usage store decides, because it counts the usage; per operation; or both. */
export const spendingLimit = {
  member: 'spendingLimit',
  schema: spendingLimitSchema,
  most: { count: 20, name: 'spending limits' },
  columns: [
    column('Threshold', 'string', '.spec.spendingLimit.threshold', 'Limit per cycle.', 1),
    column('Per Operation', 'string', '.spec.spendingLimit.perOperation', 'Limit per operation.', 1),
  ],
  problem: (limit) =>
    limitProblem(limit, { cycle: 'spec.spendingLimit', threshold: 'spec.spendingLimit.threshold' }),
  lacks: ({ thresholdType }, { nativePrice }) =>
    nativePrice === undefined && needsPrice(thresholdType)
      ? `spec.spendingLimit.thresholdType ${thresholdType} needs spec.nativePrice of the Chain, which only the platform sets.`
      : undefined,
  compile({ spec, cycle: recorded, policyId, name }, { served, now, lastingCycle }) {
    const perOperation = given({ perOperation: spec.perOperation });
    // The cycle stays recorded: a threshold that is taken away and given again frees nothing.
    if (!isCounted(spec))
      return {
        config: { policyId, name, thresholdType: spec.thresholdType, ...perOperation },
        ...given({ cycle: recorded ?? lastingCycle }),
      };
    const counted = served !== undefined && 'startMs' in served ? served : undefined;
    const cycle = decideCycle(spec, recorded, counted, now, lastingCycle);
    return { config: { ...toLimitConfig({ policyId, name }, cycle, now), ...perOperation }, cycle };
  },
  config: {
    write,
    read({ limits, operationLimits = [] }, { policyId }) {
      const [limit] = limits.filter((each) => each.policyId === policyId);
      const [ofEach] = operationLimits.filter((each) => each.policyId === policyId);
      return limit === undefined ? ofEach : { ...limit, ...ofEach };
    },
    serve: ({ limits, operationLimits }): ServedLimits => ({
      limits: compileLimits(limits),
      ...(operationLimits && { operationLimits: compileOperationLimits(operationLimits) }),
    }),
    cycles: ({ limits }) =>
      // Nothing restarts a budget but its spec, so nothing of it is remembered.
      limits.flatMap((limit) =>
        limit.budget === true ? [] : [{ policyId: limit.policyId, ...toCycleStatus(limit) }],
      ),
  },
  decision: {
    step: 'costPerOperation',
    modes: ['SPONSORED'],
    applies: ({ operationLimits }) => operationLimits !== undefined,
    decide: () => pass,
    late: {
      applies: ({ operationLimits }) => operationLimits !== undefined,
      decide: ({ operationLimits = [] }, facts) => decideOperationLimits(operationLimits, facts),
    },
  },
  /**
   * A budget is a limit in dollars. All that decides where it counts is in its spec: paymasters are compiled one by one, and have to agree.
   * So no Organisation that is made again restarts it. `assumeUsed` counts at once, also before `restartedAt` has come: too little is spent then, never too much.
   */
  budgets: {
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
  },
  isCounted,
  counts: {
    modes: ['SPONSORED'],
    policies: ({ limits }) => limits,
    shares: ({ limits }, request) => limitShares(limits, request),
  },
  glance: ({ limits, operationLimits = [] }, at) => [
    ...limits.map((limit) => glanceOfLimit(limit, at)),
    ...glanceOfOperationLimits(operationLimits, at.facts),
  ],
  record: limitRecord,
} as const satisfies PolicyKind<SpendingLimitSpec, AnyLimitConfig, Limits, ServedLimits, LimitBody>;

function write(configs: readonly AnyLimitConfig[]): Limits {
  const operationLimits = configs.flatMap(
    ({ policyId, name, shadow, campaign, thresholdType, perOperation }) =>
      perOperation === undefined
        ? []
        : [{ policyId, name, ...given({ shadow, campaign }), thresholdType, perOperation }],
  );
  return {
    limits: configs.flatMap((config) => {
      const { perOperation: _, ...limit } = config;
      return 'startMs' in limit ? [limit] : [];
    }),
    ...(operationLimits.length === 0 ? {} : { operationLimits }),
  };
}

export function toLimitConfig(
  { policyId, name }: PolicyIdentity,
  cycle: CycleStatus,
  now: EpochMs,
): LimitConfig {
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

/** What is used and promised of a limit, whether the request fits in, and when the count begins again. */
function glanceOfLimit(limit: CompiledLimit, { now, facts, used, ...at }: GlanceAt): Glance {
  const { unit, threshold, perSender, isBudget } = limit;
  const sender = at.sender ?? facts?.op.sender;
  const [share] = limitShares([limit], {
    sender: sender ?? toAddressKey(zeroAddress),
    cost: noCost,
    now,
  });
  const turnsAt = share === undefined || share.window.until === never ? undefined : share.window.until;
  const whose = perSender ? (sender === undefined ? ' for each account' : ` for ${sender}`) : '';
  const budget = isBudget === true ? ', the budget of the Organisation' : '';
  const most = `${formatAmount(unit, threshold)}${whose}${budget}`;
  // What other accounts have used says nothing about this one.
  const counter = share === undefined || (perSender && sender === undefined) ? undefined : used?.(share);
  if (counter === undefined) return createGlance(limit, { says: `at most ${most}`, ...given({ turnsAt }) });
  const left = Math.max(0, threshold - counter.used - counter.reserved);
  const needs =
    facts?.mode === 'SPONSORED' && facts.cost !== undefined
      ? unitRow(unit).take(facts.cost)?.cost
      : undefined;
  const need = needs === undefined ? '' : `, this operation needs ${formatAmount(unit, needs)}`;
  const isOver = needs === undefined ? left === 0 : needs > left;
  return createGlance(limit, {
    says: `${formatAmount(unit, counter.used)} used and ${formatAmount(unit, counter.reserved)} promised of ${most}${need}`,
    ...(isOver ? { verdict: 'refuse' } : needs === undefined ? {} : { verdict: 'pass' }),
    remaining: formatAmount(unit, left),
    ...given({ turnsAt }),
  });
}

/**
 * What is wrong with a limit, as a sentence: what schemas cannot tell, and what not every store checks. `at`: the fields that the
 * sentence names.
 */
function limitProblem(
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
    return `${at.cycle}.assumeUsed must be ${describeThreshold(thresholdType)}, got ${quote(assumeUsed)}.`;
  if (perOperation !== undefined && !isAmount(thresholdType))
    return `${at.cycle}.perOperation must be left out when thresholdType is ${thresholdType}, got ${quote(perOperation)}.`;
  if (perOperation !== undefined && !isThreshold(perOperation, thresholdType))
    return `${at.cycle}.perOperation must be ${describeThreshold(thresholdType)}, got ${quote(perOperation)}.`;
  return threshold === undefined || isThreshold(threshold, thresholdType)
    ? undefined
    : `${at.threshold} must be ${describeThreshold(thresholdType)}, got ${quote(threshold)}.`;
}

/** What one operation may cost at most. Nothing is counted, so it needs neither cycle nor store. */
type OperationLimitConfig = PolicyIdentity & {
  readonly thresholdType: Unit;
  readonly perOperation: string;
};

/** `most`: as the unit counts, rounded down. */
type OperationLimit = PolicyIdentity & { readonly unit: Unit; readonly most: number };

function compileOperationLimits(limits: readonly OperationLimitConfig[]): readonly OperationLimit[] {
  return limits.map(({ thresholdType: unit, perOperation, ...identity }) => ({
    ...identity,
    unit,
    most: parseThreshold(unit, perOperation),
  }));
}

/** Throws UNAVAILABLE (PRICE_STALE) when the cost is not known in the unit; a limit in Shadow says nothing then. */
function decideOperationLimits(limits: readonly OperationLimit[], facts: PolicyFacts): Verdict {
  return decideEach(limits, facts, (limit) => {
    const cost = costIn(limit, facts);
    if (cost === undefined) {
      if (limit.shadow === true) return pass;
      throw priceStale(limit.name);
    }
    return decideCost(limit, cost);
  });
}

function glanceOfOperationLimits(
  limits: readonly OperationLimit[],
  facts: PolicyFacts | undefined,
): readonly Glance[] {
  return limits.map((limit) => {
    const usual = `at most ${formatAmount(limit.unit, limit.most)} for each operation`;
    const cost = facts && costIn(limit, facts);
    if (cost === undefined || facts?.mode !== 'SPONSORED')
      return createGlance(limit, describeVerdict(usual, undefined));
    return createGlance(limit, describeVerdict(comparison(limit, cost), decideCost(limit, cost)));
  });
}

function decideCost(limit: OperationLimit, cost: number): Verdict {
  return cost <= limit.most ? pass : refuse('COST_TOO_HIGH', `"${limit.name}": ${comparison(limit, cost)}`);
}

/** As limits count it: rounded up. */
function costIn({ unit }: OperationLimit, { cost }: PolicyFacts): number | undefined {
  return cost && unitRow(unit).take(cost)?.cost;
}

function comparison({ unit, most }: OperationLimit, cost: number): string {
  return `the operation may cost ${formatAmount(unit, cost)}, and one may cost at most ${formatAmount(unit, most)}`;
}
