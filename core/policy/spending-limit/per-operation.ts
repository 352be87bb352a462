import { pass, refuse, type Verdict } from '../../refusal.js';
import { formatAmount, parseThreshold, unitOf, type Unit } from '../../usage/units.js';
import type { Glance, PolicyFacts, PolicyIdentity } from '../kind.js';
import { glanceOf, decideEach, saidOf } from '../modes.js';
import { priceStale } from '../share-texts.js';

/** What one operation may cost at most. Nothing is counted, so it needs neither cycle nor store. */
export type OperationLimitConfig = PolicyIdentity & {
  readonly thresholdType: Unit;
  readonly perOperation: string;
};

/** `most`: as the unit counts, rounded down. */
export type OperationLimit = PolicyIdentity & { readonly unit: Unit; readonly most: number };

export function compileOperationLimits(limits: readonly OperationLimitConfig[]): readonly OperationLimit[] {
  return limits.map(({ thresholdType: unit, perOperation, ...identity }) => ({
    ...identity,
    unit,
    most: parseThreshold(unit, perOperation),
  }));
}

/** Throws UNAVAILABLE (PRICE_STALE) when the cost is not known in the unit; a limit in Shadow says nothing then. */
export function decideOperationLimits(limits: readonly OperationLimit[], facts: PolicyFacts): Verdict {
  return decideEach(limits, facts, (limit) => {
    const cost = costIn(limit, facts);
    if (cost === undefined) {
      if (limit.shadow === true) return pass;
      throw priceStale(limit.name);
    }
    return decideCost(limit, cost);
  });
}

export function glanceOfOperationLimits(
  limits: readonly OperationLimit[],
  facts: PolicyFacts | undefined,
): readonly Glance[] {
  return limits.map((limit) => {
    const usual = `at most ${formatAmount(limit.unit, limit.most)} for each operation`;
    const cost = facts && costIn(limit, facts);
    if (cost === undefined || facts?.mode !== 'SPONSORED') return glanceOf(limit, saidOf(usual, undefined));
    return glanceOf(limit, saidOf(comparison(limit, cost), decideCost(limit, cost)));
  });
}

function decideCost(limit: OperationLimit, cost: number): Verdict {
  return cost <= limit.most ? pass : refuse('COST_TOO_HIGH', `"${limit.name}": ${comparison(limit, cost)}`);
}

/** As limits count it: rounded up. */
function costIn({ unit }: OperationLimit, { cost }: PolicyFacts): number | undefined {
  return cost && unitOf(unit).take(cost)?.cost;
}

function comparison({ unit, most }: OperationLimit, cost: number): string {
  return `the operation may cost ${formatAmount(unit, cost)}, and one may cost at most ${formatAmount(unit, most)}`;
}
