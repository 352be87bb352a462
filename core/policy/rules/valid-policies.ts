import { pass, refuse, type Verdict } from '../../refusal.js';

/** We cannot obey an active policy that was never valid, so nothing passes. `invalid`: the names of such policies. */
export function decideValidPolicies(invalid: readonly string[]): Verdict {
  if (invalid.length === 0) return pass;
  return refuse('POLICY_INVALID', `never valid: ${invalid.map((name) => `"${name}"`).join(', ')}`);
}
