import { methodsNamedBy } from '../policy/derived.js';
import {
  addMethod,
  methodName,
  toSignature,
  type NamedMethod,
  type NamedMethods,
} from '../policy/methods/methods.js';
import type { PaymasterPolicy } from '../resources/paymaster-policy.js';
import type { InParts } from '../units/in-parts.js';
import type { CompiledContract } from './compile-contracts.js';

/**
 * The methods that policies name, as the paymaster's accepted contracts declare them; paused contracts count, so that
 * pausing one does not make a policy invalid.
 */
export function* namedMethods(
  policies: readonly PaymasterPolicy[],
  contracts: readonly CompiledContract[],
): InParts<NamedMethods> {
  const named = new Set(policies.flatMap(({ spec }) => methodsNamedBy(spec)));
  const known = new Map<string, NamedMethod>();
  if (named.size === 0) return known;
  const names = new Set([...named].map(methodName));
  const seen = new Set<string>();
  for (const { accepted, declarations } of contracts) {
    yield;
    if (accepted.status !== 'True') continue;
    for (const declaration of declarations) {
      // Most contracts of a paymaster are alike.
      if (!names.has(methodName(declaration)) || seen.has(declaration)) continue;
      yield;
      if (!named.has(toSignature(declaration))) continue;
      seen.add(declaration);
      addMethod(known, declaration);
    }
  }
  return known;
}
