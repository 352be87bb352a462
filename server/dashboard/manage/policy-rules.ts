import { derivePaymasterId, derivePolicyId } from '../../../core/config/ids.js';
import type { Tenant } from '../../../core/config/tenant.js';
import { unlessUnavailable } from '../../../core/errors.js';
import type { PaymasterPolicy } from '../../../core/resources/paymaster-policy.js';
import { arrayOf } from '../../../core/schema/json-schema.js';
import { readAllRules } from '../../decision/show/read-rules.js';
import { ruleSchema } from '../../decision/show/rule-schema.js';
import type { Rule } from '../../decision/show/rules.js';
import type { Principal } from '../auth.js';
import type { Tools } from '../deps.js';
import { policyExample } from '../policy-record.js';

/** Configs that are read at once. */
const readAtOnce = 8;

/** Examples. */
export const ruleOfContracts = {
  policyType: 'CONTRACTS',
  name: 'Contracts',
  says: 'the listed methods of 1 contract pass',
  appliesTo: ['SPONSORED'],
  enforcement: 'Enforce',
};
export const ruleOfPolicy = {
  policyType: policyExample.policyType,
  policyId: policyExample._id,
  name: 'a thousand a day',
  says: '12 operations used and 3 operations promised of 1000 operations',
  remaining: '985 operations',
  appliesTo: ['SPONSORED'],
  enforcement: 'Enforce',
  turnsAt: '2026-01-02T00:00:00.000Z',
};

/** What policies say now: the same as the rules of their paymaster. */
export const rulesOfPolicies = {
  schema: {
    rules: arrayOf(
      ruleSchema,
      'What is served of the policy, and says now: a limit per cycle and one per operation are two. Empty: nothing is, e.g. while it is paused. Absent from answers to changes, and while what is served or used cannot be read.',
    ),
  },
  example: {
    rules: [ruleOfPolicy],
  },
  async read(
    tools: Tools,
    principal: Principal,
    policies: readonly PaymasterPolicy[],
  ): Promise<readonly object[]> {
    const { tenant } = principal;
    // People pause policies while a database is away: the list is there all the same.
    const rules = await unlessUnavailable(readPolicyRules(tools, principal, policies));
    return policies.map((policy) => {
      if (rules === undefined) return {};
      const ofPaymaster = rules.get(derivePaymasterId(tenant, policy.spec.paymasterRef.name)) ?? [];
      return { rules: ofPaymaster.filter((rule) => belongsToPolicy(rule, policy, tenant)) };
    });
  },
};

/** Of every paymaster that the policies name: each config is read once, and the use of all limits of a chain together. */
async function readPolicyRules(
  tools: Tools,
  { tenant }: Principal,
  policies: readonly PaymasterPolicy[],
): Promise<ReadonlyMap<string, readonly Rule[]>> {
  const ids = new Set(policies.map(({ spec }) => derivePaymasterId(tenant, spec.paymasterRef.name)));
  const left = [...ids];
  const served = [];
  while (left.length > 0) {
    const read = await Promise.all(left.splice(0, readAtOnce).map((id) => tools.configs.getPaymaster(id)));
    served.push(...read.flatMap((stored) => (stored === undefined ? [] : [stored.config])));
  }
  return readAllRules(tools, served, tools.usage.now());
}

/** All policies of some kinds are one rule, without an id; one that was never valid is named by the rule that refuses because of it. */
function belongsToPolicy(rule: Rule, { metadata, spec }: PaymasterPolicy, tenant: Tenant): boolean {
  if (rule.policyId !== undefined) return rule.policyId === derivePolicyId(tenant, metadata.name);
  if (spec.active === false) return false;
  if (rule.policyType === 'INVALID_POLICY') return rule.name === spec.name;
  return rule.policyType === spec.policyType && rule.campaign === spec.campaign;
}
