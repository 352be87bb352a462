import { derivePaymasterId, derivePolicyId } from '../../../core/config/ids.js';
import { unlessUnavailable } from '../../../core/errors.js';
import { countLeft, describeCountLeft } from '../../../core/policy/spending-limit/count-left.js';
import type { PaymasterPolicy, PaymasterPolicySpec } from '../../../core/resources/paymaster-policy.js';
import type { Principal } from '../auth.js';
import type { Tools } from '../deps.js';

/** Reads what a change means, at the time of the answer. `isAhead`: it can still be left. */
export type Remarks = (isAhead: boolean) => Promise<readonly string[]>;

/** What a change of a limit forgets. The count is found before the change, and read when it is told: meanwhile operations go on. */
export async function remarksOnLimit(
  { configs, usage }: Tools,
  { tenant }: Principal,
  { metadata, spec: { spendingLimit: before, paymasterRef }, status }: PaymasterPolicy,
  { spendingLimit: after }: PaymasterPolicySpec,
): Promise<Remarks> {
  if (before === undefined || after === undefined) return none;
  const policyId = derivePolicyId(tenant, metadata.name);
  const config = (await unlessUnavailable(configs.getPaymaster(derivePaymasterId(tenant, paymasterRef.name))))
    ?.config;
  const served = config?.limits.find((each) => each.policyId === policyId);
  const left = countLeft(before, after, { policyId, cycle: status?.cycle, served, now: usage.now() });
  if (left === undefined) return none;
  return async (isAhead) => {
    const known = left.perSender || config === undefined ? undefined : usage.counters(config.chainId, [left]);
    const [state] = (known && (await unlessUnavailable(known))) ?? [];
    const kept = isAhead && left.canBeKept ? '; spec.spendingLimit.keepCount: true keeps it' : '';
    return [`${describeCountLeft(left, state)}${kept}`];
  };
}

export const none: Remarks = () => Promise.resolve([]);
