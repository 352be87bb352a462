import { short } from '../format.js';
import type { Known } from '../paymasters.js';
import type { Call, Contract, Policy, TracedDecision } from '../records.js';
import type { Told } from './sentences.js';

export function callName({ name, selector, contractId, target }: Call): string {
  return `${contractId ?? short(target)}.${name ?? selector}`;
}

/** Puts names to what a decision refused. */
export function toldOf(
  decision: TracedDecision,
  paymaster: Known,
  contracts: readonly Contract[],
  policies: readonly Policy[],
): Told {
  const { calls, detail, reason } = decision;
  // The detail begins with which call it was.
  const [, index] = /^call (\d+) /.exec(detail ?? '') ?? [];
  const call = calls[Number(index ?? 0)];
  const policyId =
    decision.policies.find(({ effect }) => effect === 'refused')?.policyId ??
    decision.trace.find((step) => step.reason === reason)?.policyId;
  return {
    decision,
    who: paymaster.name,
    object: paymaster.object,
    call: call && callName(call),
    target: call?.target,
    method: call?.name ?? undefined,
    contract: contracts.find(({ spec }) => spec.address.toLowerCase() === call?.target.toLowerCase()),
    policy: policies.find(({ id }) => id === policyId),
  };
}
