import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { compileLimits, limitShares } from '../../core/policy/spending-limit/shares.js';
import { parseAddressKey, zeroAddress } from '../../core/units/address.js';
import type { Clock, EpochMs } from '../../core/units/time.js';
import { noCost } from '../../core/usage/unit.js';
import type { UsageStore } from '../../core/usage/usage-store.js';

/** The current use of a limit, as its unit counts. `used` includes promises that are not settled. */
export type LimitUse = { readonly used: number; readonly threshold: number; readonly resetsAt: EpochMs };

/**
 * The use of each limit of a paymaster, in the order of the limits; undefined for a limit per user, which has as many counters as
 * users. This is the only place where the status asks the usage store for counters. Throws DomainError UNAVAILABLE.
 */
export async function readLimitUse(
  usage: Pick<UsageStore, 'counters'>,
  config: Pick<PaymasterConfig, 'chainId' | 'limits'>,
  clock: Clock,
): Promise<readonly (LimitUse | undefined)[]> {
  const compiled = compileLimits(config.limits);
  const nobody = { sender: parseAddressKey(zeroAddress), cost: noCost, now: clock.now() };
  const shares = limitShares(compiled, nobody);
  const counters = await usage.counters(config.chainId, shares);
  return compiled.map(({ perSender, threshold }, index) => {
    const counter = counters[index];
    const share = shares[index];
    return perSender || counter === undefined || share === undefined
      ? undefined
      : { used: counter.used + counter.reserved, threshold, resetsAt: share.window.until };
  });
}
