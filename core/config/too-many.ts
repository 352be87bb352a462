import type { ObjectMeta } from '../meta/meta.js';
import { policyKinds, type PolicyType } from '../policy/kinds.js';
import { maxContracts } from './paymaster-config.js';
import { compareAge } from './ranking.js';

/** "A paymaster has at most 20 spending limits": what to say of one more. */
export function tooManyPolicies(type: PolicyType): string {
  const { count, name } = policyKinds[type].most;
  return `A paymaster has at most ${count} ${name}, and the oldest count: delete one.`;
}

export const tooManyContracts = `A paymaster has at most ${maxContracts} contracts, and the oldest count: delete one.`;

type Aged = { readonly metadata: ObjectMeta };

/**
 * All but the oldest `count`. Only those count, so that one which is added later can neither slow nor open what is served.
 */
export function youngerThan<T extends Aged>(objects: readonly T[], count: number): ReadonlySet<T> {
  if (objects.length <= count) return new Set();
  return new Set([...objects].sort(compareAge).slice(count));
}
