import { pass, refuse, type Verdict } from '../../refusal.js';

/** An active policy that was never valid says nothing that could be obeyed, so nothing passes. `invalid`: names of those. */
export function decideValidPolicies(invalid: readonly string[]): Verdict {
  if (invalid.length === 0) return pass;
  return refuse('POLICY_INVALID', `never valid: ${invalid.map((name) => `"${name}"`).join(', ')}`);
}
