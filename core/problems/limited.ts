import { policyKindOf } from '../policy/derived.js';
import type { PaymasterPolicy } from '../resources/paymaster-policy.js';
import type { PaymasterSpec } from '../resources/paymaster.js';

/** Which paymasters have an active limit that counts for each of their operations. */
export type Limited = {
  add(policy: Pick<PaymasterPolicy, 'metadata' | 'spec'>): void;
  has(namespace: string, name: string, spec: Pick<PaymasterSpec, 'withoutCampaign'>): boolean;
};

export function createLimited(): Limited {
  /** By paymaster: whether each of its campaigns has a limit; '' stands for every operation. */
  const known = new Map<string, Map<string, boolean>>();
  return {
    add({ metadata, spec }) {
      const { active, enforcement, policyType, campaign = '' } = spec;
      if (active === false) return;
      const key = `${metadata.namespace}/${spec.paymasterRef.name}`;
      const campaigns = known.get(key) ?? new Map<string, boolean>();
      known.set(key, campaigns);
      const counts = policyKindOf(policyType)?.counts !== undefined && enforcement !== 'Shadow';
      campaigns.set(campaign, counts || campaigns.get(campaign) === true);
    },
    has(namespace, name, { withoutCampaign }) {
      const { '': always = false, ...campaigns } = Object.fromEntries(
        known.get(`${namespace}/${name}`) ?? [],
      );
      const each = Object.values(campaigns);
      return (
        always || (withoutCampaign !== 'Allow' && each.length > 0 && each.every((isLimited) => isLimited))
      );
    },
  };
}
