import type { CycleUnit } from '../units/time.js';
import type { Condition, Resource } from './meta.js';

export type PolicyType = 'PAYMASTER_SA_LIMIT' | 'WEBHOOK' | 'WALLET_DEPLOYMENT';
/** `PAYMASTER`: one counter for all users. `SMART_ACCOUNT`: one counter per `sender`. */
export type LimitScope = 'PAYMASTER' | 'SMART_ACCOUNT';
export type ThresholdType = 'COUNT' | 'NATIVE_ASSET';

export type SpendingLimitSpec = {
  readonly scope: LimitScope;
  readonly cycleDuration: { readonly value: number; readonly unit: CycleUnit };
  /** Exact decimal text: a count, or ether for NATIVE_ASSET. */
  readonly threshold: string;
  readonly thresholdType: ThresholdType;
  /** RFC 3339 with milliseconds. A new or changed value starts a new cycle then. */
  readonly startTime?: string;
};

export type WebhookSpec = {
  readonly url: string;
  /** Default POST. GET sends the data as query parameters. */
  readonly method?: 'POST' | 'GET';
  /** Default Deny: a webhook that fails refuses the request. */
  readonly onError?: 'Deny' | 'Allow';
  /** How long the host has to answer, its retry included: 0.5 to 10. Default 3. */
  readonly timeoutSeconds?: number;
  /** Raising it rotates the signing key. Default 1. */
  readonly keyGeneration?: number;
  /** RFC 3339; until then X-Signature is by the key of `keyGeneration - 1`, and X-Signature-Next by the new one. */
  readonly previousKeyUntil?: string;
};

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

/** The cycle in force, with the fields it was started for, so that a change can be told from a re-apply. */
export type CycleStatus = {
  /** RFC 3339 with milliseconds. */
  readonly startTime: string;
  readonly durationMs: number;
  readonly scope: LimitScope;
  readonly threshold: string;
  readonly thresholdType: ThresholdType;
  /** `spec.spendingLimit.startTime` at that time, if any. */
  readonly specStartTime?: string;
};

export type PaymasterPolicyStatus = {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
  readonly policyId?: string;
  readonly cycle?: CycleStatus;
};

export type PaymasterPolicy = Resource<'PaymasterPolicy', PaymasterPolicySpec, PaymasterPolicyStatus>;
