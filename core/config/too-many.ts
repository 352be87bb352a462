import type { ObjectMeta } from '../resources/meta.js';
import type { PolicyType } from '../resources/paymaster-policy.js';
import { maxContracts } from './paymaster-config.js';
import { compareAge } from './ranking.js';

/**
 * How many policies of a type count for one paymaster, paused ones included: every request pays for each. Only the
 * oldest do, so that one which is added later can neither slow nor open what is served.
 */
export const maxPolicies = {
  PAYMASTER_SA_LIMIT: { count: 20, name: 'spending limits' },
  WEBHOOK: { count: 5, name: 'webhooks' },
  WALLET_DEPLOYMENT: { count: 5, name: 'wallet deployment policies' },
} as const satisfies Record<PolicyType, { readonly count: number; readonly name: string }>;

/** "A paymaster has at most 20 spending limits": what to say of one more. */
export function tooManyPolicies(type: PolicyType): string {
  const { count, name } = maxPolicies[type];
  return `A paymaster has at most ${count} ${name}, and the oldest count: delete one.`;
}

export const tooManyContracts = `A paymaster has at most ${maxContracts} contracts, and the oldest count: delete one.`;

type Aged = { readonly metadata: ObjectMeta };

/** All but the oldest `count`. */
export function youngerThan<T extends Aged>(objects: readonly T[], count: number): ReadonlySet<T> {
  if (objects.length <= count) return new Set();
  return new Set([...objects].sort(compareAge).slice(count));
}
