import { given } from '../units/given.js';
import { choice, list, type SchemaOf } from '../schema/structural.js';
import { pass, type Verdict } from '../refusal.js';
import type { Mode } from '../usage/reservation.js';
import type { AppliesTo, Glance, PolicyFacts, PolicyIdentity } from './kind.js';

export const modes = ['SPONSORED', 'ERC20'] as const satisfies readonly Mode[];

export const appliesToSchema: SchemaOf<readonly Mode[]> = list(
  'Modes in which the policy judges. Default [SPONSORED]: what the user pays for in tokens passes; add ERC20 to judge that too.',
  choice('A mode of the JSON-RPC API.', modes),
  { minItems: 1, maxItems: modes.length },
);

export function appliesIn({ appliesTo = ['SPONSORED'] }: AppliesTo, mode: Mode): boolean {
  return appliesTo.includes(mode);
}

/** The first refusal of a policy that is enforced. What one in Shadow refuses is noted, and the next is asked. */
export function decideEach<P extends PolicyIdentity & AppliesTo>(
  policies: readonly P[],
  { mode, shadow }: Pick<PolicyFacts, 'mode' | 'shadow'>,
  decide: (policy: P) => Verdict,
): Verdict {
  for (const policy of policies) {
    const verdict = appliesIn(policy, mode) ? decide(policy) : pass;
    if (verdict.pass) continue;
    const refusal = { ...verdict, policyId: policy.policyId };
    if (policy.shadow !== true) return refusal;
    shadow.note(refusal);
  }
  return pass;
}

/** A policy at a glance, with what it says. */
export function createGlance<P extends PolicyIdentity & AppliesTo>(
  policy: P,
  said: Pick<Glance, 'says' | 'verdict' | 'remaining' | 'turnsAt'>,
): Glance {
  const { policyId, name, appliesTo, shadow, campaign } = policy;
  return { policyId, name, ...given({ appliesTo, shadow, campaign }), ...said };
}

/** What a policy says about the request, if one is given whose mode it judges; otherwise what it says about all. */
export function describeDecision(
  policy: AppliesTo,
  facts: PolicyFacts | undefined,
  usual: string,
  decide: (facts: PolicyFacts) => Verdict,
): Pick<Glance, 'says' | 'verdict'> {
  return describeVerdict(
    usual,
    facts !== undefined && appliesIn(policy, facts.mode) ? decide(facts) : undefined,
  );
}

/** Undefined: the request is not judged, or none is given. */
export function describeVerdict(
  usual: string,
  verdict: Verdict | undefined,
): Pick<Glance, 'says' | 'verdict'> {
  if (verdict === undefined) return { says: usual };
  return verdict.pass ? { says: usual, verdict: 'pass' } : { says: verdict.detail, verdict: 'refuse' };
}
