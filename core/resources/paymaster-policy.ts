import type { Enforcement } from '../meta/schema-parts.js';
import type { ObservedStatus, Resource } from '../meta/meta.js';
import type { PolicyMembers } from '../policy/derived.js';
import type { PolicyType } from '../policy/kinds.js';
import type { CycleStatus } from '../policy/spending-limit/spec.js';

export type PaymasterPolicySpec = {
  readonly paymasterRef: { readonly name: string };
  readonly name: string;
  /** Absent means active; the schema sets no default, so a Git-managed policy can be paused without drift. */
  readonly active?: boolean;
  readonly policyType: PolicyType;
  /** Absent: Enforce. */
  readonly enforcement?: Enforcement;
  /** Absent: judges every request. */
  readonly campaign?: string;
} & PolicyMembers;

export type PaymasterPolicyStatus = ObservedStatus & {
  readonly active?: boolean;
  readonly policyId?: string;
  readonly cycle?: CycleStatus;
};

export type PaymasterPolicy = Resource<'PaymasterPolicy', PaymasterPolicySpec, PaymasterPolicyStatus>;
