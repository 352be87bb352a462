import { choice, list, type SchemaOf } from '../schema/structural.js';
import type { Mode } from '../usage/usage-store.js';

/** Modes in which a policy judges; absent: SPONSORED alone. */
export type AppliesTo = { readonly appliesTo?: readonly Mode[] };

export const modes = ['SPONSORED', 'ERC20'] as const satisfies readonly Mode[];

export const appliesToSchema: SchemaOf<readonly Mode[]> = list(
  'Modes in which the policy judges. Default [SPONSORED]: what the user pays for in tokens passes; add ERC20 to judge that too.',
  choice('A mode of the JSON-RPC API.', modes),
  { minItems: 1, maxItems: modes.length },
);

export function appliesIn({ appliesTo = ['SPONSORED'] }: AppliesTo, mode: Mode): boolean {
  return appliesTo.includes(mode);
}
