import type { CycleUnit, EpochMs } from '../../units/time.js';
import type { Unit } from '../../usage/units.js';

/** `PAYMASTER`: one counter for all users. `SMART_ACCOUNT`: one counter per `sender`. */
export type LimitScope = 'PAYMASTER' | 'SMART_ACCOUNT';

export type SpendingLimitSpec = {
  readonly scope: LimitScope;
  readonly cycleDuration: { readonly value: number; readonly unit: CycleUnit };
  /** Exact decimal text in the unit. */
  readonly threshold: string;
  readonly thresholdType: Unit;
  /** RFC 3339 with milliseconds. A new or changed value starts a new cycle at that time. */
  readonly startTime?: string;
};

/** As in the resource. */
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
