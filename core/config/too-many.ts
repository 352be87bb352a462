import type { ObjectMeta } from '../meta/meta.js';
import type { PolicyKind } from '../policy/kind.js';
import { policyKinds, type PolicyType } from '../policy/kinds.js';
import { maxContracts } from './paymaster-config.js';
import { compareAge } from './ranking.js';

/** The message for one policy too many. */
export function tooManyPolicies(type: PolicyType): string {
  const { count, name } = policyKinds[type].most;
  return `A paymaster has at most ${count} active ${name}, and the oldest count: delete or pause one.`;
}

/** The message for a policy that holds more than others leave room for. */
export function tooManyItems(type: PolicyType): string {
  const { items }: PolicyKind['most'] = policyKinds[type].most;
  return `A paymaster has at most ${items?.count} ${items?.name}: this one does not fit, so what was served for it before stays.`;
}

export const tooManyContracts = `A paymaster has at most ${maxContracts} contracts, and the oldest count: delete one.`;

type Aged = { readonly metadata: ObjectMeta };

/**
 * All objects except the oldest `count`. Only the oldest count, so that adding an object can neither slow down nor
 * open up what is served.
 */
export function youngerThan<T extends Aged>(objects: readonly T[], count: number): ReadonlySet<T> {
  if (objects.length <= count) return new Set();
  return new Set([...objects].sort(compareAge).slice(count));
}
