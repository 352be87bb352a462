import type { Limit, Policy, Rule } from '../records.js';
import { kindOf, ruleKinds } from './kinds.js';

/** A policy with what it says now, or a rule that no policy makes. */
export type Row = {
  readonly name: string;
  readonly policyType: string;
  readonly campaign?: string | undefined;
  readonly policy?: Policy;
  /** A limit per cycle and one per operation are two. */
  readonly rules: readonly Rule[];
  readonly limit?: Limit | undefined;
};

/** What decides besides policies first, then policies by their kind. */
export function rowsOf(
  policies: readonly Policy[],
  rules: readonly Rule[],
  limits: readonly Limit[],
): readonly Row[] {
  const limitOf = (id: string | undefined) => limits.find(({ policy }) => policy === id);
  const ofPolicies = policies.map((policy): Row => {
    const { name, policyType, campaign } = policy.spec;
    const own = rules.filter((rule) => isOf(rule, policy));
    return { name, policyType, campaign, policy, rules: own, limit: limitOf(policy.id) };
  });
  const owned = new Set(ofPolicies.flatMap((row) => row.rules));
  const others = rules.filter((rule) => !owned.has(rule));
  const kinds = Object.keys(ruleKinds);
  return [
    ...others.map((rule): Row => ({ ...rule, rules: [rule], limit: limitOf(rule.policyId) })),
    ...ofPolicies.toSorted((a, b) => kinds.indexOf(a.policyType) - kinds.indexOf(b.policyType)),
  ];
}

/** All policies of some kinds are one rule, without an id; one that was never valid is named by the rule that refuses because of it. */
function isOf({ policyId, policyType, name, campaign }: Rule, { id, spec }: Policy): boolean {
  if (policyId !== undefined) return policyId === id;
  if (spec.active === false) return false;
  if (policyType === 'INVALID_POLICY') return name === spec.name;
  return policyType === spec.policyType && campaign === spec.campaign;
}

/** What a row says, one sentence each. */
export function saidBy({ policy, rules, limit }: Row): readonly string[] {
  // Its figures have columns of their own.
  if (policy !== undefined && (limit !== undefined || rules.length === 0))
    return [kindOf(policy.spec.policyType).says(policy.spec)];
  return rules.map(({ says }) => says);
}

/** Between 0 and 1, promises included; undefined where nobody knows, as of limits per account. */
export function usedShare({ used, reserved, threshold }: Limit): number | undefined {
  if (used === null || reserved === null || threshold === null) return undefined;
  return Number(threshold) === 0 ? 1 : Math.min(1, (Number(used) + Number(reserved)) / Number(threshold));
}
