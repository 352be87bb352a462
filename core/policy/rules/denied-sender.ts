import { pass, refuse, type Verdict } from '../../refusal.js';
import type { AddressKey } from '../../units/address.js';

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
