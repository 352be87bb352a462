import type { CycleUnit, EpochMs } from '../../units/time.js';

/** `PAYMASTER`: one counter for all users. `SMART_ACCOUNT`: one counter per `sender`. */
export type LimitScope = 'PAYMASTER' | 'SMART_ACCOUNT';
export type ThresholdType = 'COUNT' | 'NATIVE_ASSET';

export type SpendingLimitSpec = {
  readonly scope: LimitScope;
  readonly cycleDuration: { readonly value: number; readonly unit: CycleUnit };
  /** Exact decimal text: a count, or ether for NATIVE_ASSET. */
  readonly threshold: string;
  readonly thresholdType: ThresholdType;
  /** RFC 3339 with milliseconds. A new or changed value starts a new cycle at that time. */
  readonly startTime?: string;
};

/** As in the resource; `threshold` is exact decimal text: a count, or ether. */
type LimitTerms = Pick<SpendingLimitSpec, 'scope' | 'threshold' | 'thresholdType'>;

/** The cycle in force, with the fields for which it was started, so that a change differs from a re-apply. */
export type CycleStatus = LimitTerms & {
  /** RFC 3339 with milliseconds. */
  readonly startTime: string;
  readonly durationMs: number;
  /** `spec.spendingLimit.startTime` at that time, if any. */
  readonly specStartTime?: string;
};

/** What is served for a limit. */
export type LimitConfig = LimitTerms & {
  readonly policyId: string;
  readonly name: string;
  readonly startMs: EpochMs;
  readonly durationMs: number;
};
