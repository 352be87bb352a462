import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import { compileLimits, limitShares } from '../../../core/policy/spending-limit/shares.js';
import type { UsageStore } from '../../../core/policy/usage-store.js';
import { parseAddressKey, zeroAddress } from '../../../core/units/address.js';
import { plusSeconds, toSeconds, type Clock, type EpochMs } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';

/** Where a limit stands now, in its unit: operations, or gwei. `used` counts what is promised as well. */
export type LimitUse = { readonly used: number; readonly threshold: number; readonly resetsAt: EpochMs };

/**
 * What is used of each limit of a paymaster, in their order; undefined for limits of each user, which have as many counters as
 * users. The only place where the status asks the usage store for counters. Throws DomainError UNAVAILABLE.
 */
export async function readLimitUse(
  usage: Pick<UsageStore, 'peek'>,
  config: Pick<PaymasterConfig, 'chainId' | 'paymasterId' | 'configGeneration' | 'limits'>,
  clock: Clock,
): Promise<readonly (LimitUse | undefined)[]> {
  const nobody = parseAddressKey(zeroAddress);
  const compiled = compileLimits(config.limits);
  // A promise of nothing by nobody, which is never made: only a look at the counters.
  const { limits } = await usage.peek({
    key: {
      chainId: config.chainId,
      paymasterId: config.paymasterId,
      entryPoint: nobody,
      sender: nobody,
      nonce: 0n,
    },
    configGeneration: config.configGeneration,
    contract: nobody,
    mode: 'SPONSORED',
    fundingAddress: undefined,
    limits: limitShares(compiled, nobody, gwei(0)),
    accounts: [],
    validUntil: plusSeconds(toSeconds(clock.now()), 60),
    depositMaxAgeMs: Number.MAX_SAFE_INTEGER,
  });
  return compiled.map(({ perSender, threshold }, index) => {
    const counter = limits[index];
    return perSender || counter === undefined
      ? undefined
      : { used: counter.used, threshold, resetsAt: counter.resetsAt };
  });
}
