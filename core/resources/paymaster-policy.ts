import type { CycleStatus, SpendingLimitSpec } from '../policy/spending-limit/spec.js';
import type { WebhookSpec } from '../policy/webhook/spec.js';
import type { Condition, Resource } from '../meta/meta.js';

export type PolicyType = 'PAYMASTER_SA_LIMIT' | 'WEBHOOK' | 'WALLET_DEPLOYMENT';
export type PaymasterPolicySpec = {
  readonly paymasterRef: { readonly name: string };
  readonly name: string;
  /** Absent means active; there is no schema default, so a Git-managed policy can be paused without drift. */
  readonly active?: boolean;
  readonly policyType: PolicyType;
  readonly spendingLimit?: SpendingLimitSpec;
  readonly webhook?: WebhookSpec;
  readonly walletDeployment?: Readonly<Record<string, never>>;
};

export type PaymasterPolicyStatus = {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  readonly policyId?: string;
  readonly cycle?: CycleStatus;
};

export type PaymasterPolicy = Resource<'PaymasterPolicy', PaymasterPolicySpec, PaymasterPolicyStatus>;
