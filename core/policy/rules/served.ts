import { pass, refuse, type Verdict } from '../../refusal.js';
import type { AddressKey } from '../../units/address.js';

// Whether anything is signed for this account, whatever it wants to call.

/** A person or the platform has stopped the paymaster or its whole chain. */
export function decideSuspended(
  paymaster: { readonly suspended: boolean },
  chain: { readonly chainId: number; readonly suspended: boolean },
): Verdict {
  if (paymaster.suspended) return refuse('SUSPENDED', 'the paymaster is suspended');
  return chain.suspended ? refuse('SUSPENDED', `chain ${chain.chainId} is suspended`) : pass;
}

/** We cannot obey an active policy that was never valid, so nothing passes. `invalid`: the names of such policies. */
export function decideValidPolicies(invalid: readonly string[]): Verdict {
  if (invalid.length === 0) return pass;
  return refuse('POLICY_INVALID', `never valid: ${invalid.map((name) => `"${name}"`).join(', ')}`);
}

/** Accounts that the platform serves in no mode. `denied` is undefined while the list is not known. */
export function decideDeniedSender(
  chainId: number,
  denied: ReadonlySet<AddressKey> | undefined,
  sender: AddressKey,
): Verdict {
  if (denied === undefined) return refuse('SENDERS_UNKNOWN', `the list of chain ${chainId} is not here yet`);
  if (!denied.has(sender)) return pass;
  return refuse('SENDER_DENIED', `${sender} is in spec.deniedSenders of chain ${chainId}`);
}
