import { budgetsOf } from '../config/budgets.js';
import { dataOf, policyKindOf } from '../policy/derived.js';
import type { Organisation } from '../resources/organisation.js';
import type { PaymasterPolicy } from '../resources/paymaster-policy.js';
import type { Paymaster } from '../resources/paymaster.js';

/** Which paymasters have an active limit, or a budget of their organisation, that counts for each of their operations. */
export type Limited = {
  add(object: PaymasterPolicy | Organisation): void;
  has(paymaster: Pick<Paymaster, 'metadata' | 'spec'>): boolean;
};

export function createLimited(): Limited {
  /** By paymaster: whether each of its campaigns has a limit; '' stands for every operation. */
  const known = new Map<string, Map<string, boolean>>();
  /** Namespace and chain of each budget. */
  const budgets = new Set<string>();

  function addPolicy({ metadata, spec }: PaymasterPolicy): void {
    const { active, enforcement, policyType, campaign = '' } = spec;
    if (active === false) return;
    const key = `${metadata.namespace}/${spec.paymasterRef.name}`;
    const campaigns = known.get(key) ?? new Map<string, boolean>();
    known.set(key, campaigns);
    const kind = policyKindOf(policyType);
    const data = kind && dataOf(spec, kind);
    const counts =
      kind?.counts !== undefined &&
      enforcement !== 'Shadow' &&
      (data === undefined || kind.isCounted?.(data) !== false);
    campaigns.set(campaign, counts || campaigns.get(campaign) === true);
  }

  return {
    add(object) {
      if (object.kind === 'PaymasterPolicy') return addPolicy(object);
      for (const { chain, enforcement } of budgetsOf(object))
        if (enforcement !== 'Shadow') budgets.add(`${object.spec.namespace} ${chain}`);
    },
    has({ metadata: { namespace, name }, spec: { chainId, withoutCampaign } }) {
      if (budgets.has(`${namespace} ${chainId}`)) return true;
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
