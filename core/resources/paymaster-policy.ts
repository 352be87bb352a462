import { memberRules, memberSchemas, policyColumns, policyTypes, shadowRules } from '../policy/derived.js';
import { cycleStatus } from '../policy/spending-limit/schema.js';
import {
  activeColumn,
  activeStatus,
  column,
  displayName,
  enforcement,
  paymasterColumn,
  paymasterRef,
  foundStatus,
} from '../meta/schema-parts.js';
import { boolean, choice, immutable, object, text, type Infer } from '../schema/structural.js';
import { campaignName } from '../policy/rules/campaign.js';
import type { Resource } from '../meta/meta.js';

const spec = object(
  'What the owner wants.',
  {
    required: {
      paymasterRef: paymasterRef('The Paymaster that this policy guards. Never changes.'),
      name: displayName('Name of the policy, unique per Paymaster, e.g. daily budget.'),
      policyType: choice(
        'Kind of the policy; the member of the same kind holds its data. Never changes.',
        policyTypes,
        immutable('delete this PaymasterPolicy and create another'),
      ),
    },
    optional: {
      /** No default, so that a policy in Git can be paused without drift. */
      active: boolean(
        'False pauses the policy. Absent means active; leave it out so that the dashboard may pause it.',
      ),
      enforcement: enforcement(
        'Shadow: the policy judges and counts, and never refuses; what it would refuse is in explanations, decisions, usage and metrics. Default Enforce. Back to Enforce restarts no cycle.',
      ),
      campaign: text(
        'The campaign that the policy belongs to, e.g. winter-2026: it judges only requests that name it as sponsorshipPolicyId. While any active policy of a Paymaster has one, requests must name one, see withoutCampaign of the Paymaster.',
        {
          pattern: campaignName.source,
          maxLength: 64,
          expected: 'letters, digits, ".", "_" or "-", e.g. winter-2026',
        },
      ),
      ...memberSchemas,
    },
  },
  ...memberRules,
  ...shadowRules,
);

const status = foundStatus({
  active: activeStatus,
  policyId: text('Id of this policy in the dashboard API.', { maxLength: 64 }),
  cycle: cycleStatus,
});

export type PaymasterPolicySpec = Infer<typeof spec>;
export type PaymasterPolicyStatus = Infer<typeof status>;
export type PaymasterPolicy = Resource<'PaymasterPolicy', PaymasterPolicySpec, PaymasterPolicyStatus>;

export const paymasterPolicyKind = {
  description: 'A rule that an operation must pass before its Paymaster sponsors it.',
  spec,
  status,
  printerColumns: [
    paymasterColumn,
    column('Type', 'string', '.spec.policyType', 'Kind of policy.'),
    column('Name', 'string', '.spec.name', 'Name of the policy.'),
    activeColumn,
    column('Campaign', 'string', '.spec.campaign', 'Judges only requests that name it.', 1),
    column('Enforcement', 'string', '.spec.enforcement', 'Shadow: never refuses.', 1),
    ...policyColumns,
  ],
  selectableFields: ['spec.name', 'spec.paymasterRef.name', 'spec.policyType'],
} as const;
