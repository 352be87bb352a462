import { pass, refuse, type Verdict } from '../../refusal.js';

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
