import { pass, refuse, type Verdict } from '../../refusal.js';

/** A person or the platform has stopped the paymaster or its whole chain. */
export function decideSuspended(
  paymaster: { readonly suspended: boolean },
  chain: { readonly chainId: number; readonly suspended: boolean },
): Verdict {
  if (paymaster.suspended) return refuse('SUSPENDED', 'the paymaster is suspended');
  return chain.suspended ? refuse('SUSPENDED', `chain ${chain.chainId} is suspended`) : pass;
}
