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

/**
 * Someone has to pay. `funding` is the wallet that pays; undefined when neither the paymaster nor the platform names
 * one.
 */
export function decideFunding(
  funding: AddressKey | undefined,
  { version, organisation }: { readonly version: string; readonly organisation: string },
): Verdict {
  if (funding !== undefined) return pass;
  return refuse(
    'NOT_FUNDED',
    `version "${version}" has no wallet that pays for organisation "${organisation}"`,
  );
}

export type SigningPhase = 'commit' | 'finalize';

/** Where the paymaster demands the account's signature, only the second of two phases signs. */
export function decideAccountSignature(
  { requiresAccountSignature }: { readonly requiresAccountSignature: boolean },
  phase: SigningPhase | undefined,
): Verdict {
  if (!requiresAccountSignature || phase !== undefined) return pass;
  return refuse(
    'ACCOUNT_SIGNATURE_REQUIRED',
    'the request has no signingPhase, and this paymaster signs only what its account has signed',
  );
}
