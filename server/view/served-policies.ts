import { asking, sharesOf, type ServedPolicies } from '../../core/policy/derived.js';
import type { PolicyShare } from '../../core/policy/kind.js';
import { modes } from '../../core/policy/modes.js';
import type { HostPolicy } from '../../core/policy/policy-hosts.js';
import { toAddressKey, zeroAddress } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import type { ServedPaymaster } from './served-paymaster.js';

/** A limit as it is configured now, with the counter of its present window; undefined: it is not served. */
export function limitNow(
  paymaster: ServedPaymaster | undefined,
  policyId: string,
  now: EpochMs,
): PolicyShare | undefined {
  const nothing = { sender: toAddressKey(zeroAddress), cost: { wei: 0n, usdPerNative: 0n }, now } as const;
  for (const served of partsOf(paymaster))
    for (const mode of modes) {
      const share = sharesOf(served, mode, nothing).find(({ policy }) => policy.policyId === policyId);
      if (share !== undefined) return share;
    }
  return undefined;
}

/** A policy that asks a host, as it is configured now, and whose it is; undefined: it is not served. */
export function hostNow(
  paymaster: ServedPaymaster | undefined,
  policyId: string,
): { readonly organisation: string; readonly policy: HostPolicy } | undefined {
  const policy = partsOf(paymaster)
    .flatMap((served) => asking.flatMap((kind) => kind.policies(served)))
    .find((each) => each.policyId === policyId);
  return policy && paymaster && { organisation: paymaster.namespace, policy };
}

/** Those without a campaign, and those of each. */
function partsOf(paymaster: ServedPaymaster | undefined): readonly ServedPolicies[] {
  if (paymaster === undefined) return [];
  return [paymaster, ...Array.from(paymaster.campaigns?.active.values() ?? [], ({ judges }) => judges)];
}
