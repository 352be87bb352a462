import { pass, refuse, type Verdict } from '../../refusal.js';
import type { AddressKey } from '../../units/address.js';

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
