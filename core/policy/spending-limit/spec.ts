import type { CycleUnit, EpochMs } from '../../units/time.js';
import type { Calendar } from '../../usage/calendar.js';
import type { Unit } from '../../usage/units.js';

/** `PAYMASTER`: one counter for all users. `SMART_ACCOUNT`: one counter per `sender`. */
export type LimitScope = 'PAYMASTER' | 'SMART_ACCOUNT';

export type SpendingLimitSpec = {
  readonly scope: LimitScope;
  /** With a threshold exactly one of `cycleDuration`, `calendar` and `never` is set, and none without. */
  readonly cycleDuration?: { readonly value: number; readonly unit: CycleUnit };
  readonly calendar?: Calendar;
  readonly never?: object;
  /** Exact decimal text in the unit. Absent where only each operation is bounded. */
  readonly threshold?: string;
  readonly thresholdType: Unit;
  /** The most that one operation may cost, in the unit. */
  readonly perOperation?: string;
  /** RFC 3339 with milliseconds. A new or changed value starts a new cycle at that time. */
  readonly startTime?: string;
  /** Of a calendar or endless limit: a later time than before starts the count anew. */
  readonly restartedAt?: string;
  /** Of an endless limit: a new value starts the count anew, with this much of the threshold used. */
  readonly assumeUsed?: string;
};

/** A limit that counts by cycles. */
export type CountedSpec = SpendingLimitSpec & Required<Pick<SpendingLimitSpec, 'threshold'>>;

export function isCounted(spec: SpendingLimitSpec): spec is CountedSpec {
  return spec.threshold !== undefined;
}

/** As in the resource. */
export type LimitTerms = Pick<CountedSpec, 'scope' | 'threshold' | 'thresholdType'>;

/** The cycle in force, with the fields for which it was started, so that a change differs from a re-apply. */
export type CycleStatus = LimitTerms & {
  /** RFC 3339 with milliseconds. */
  readonly startTime: string;
  /** Without it, and without `calendar`, the limit is endless. */
  readonly durationMs?: number;
  readonly calendar?: Calendar;
  /** How much of an endless limit counts as used from the start. */
  readonly assumeUsed?: string;
  /** `spec.spendingLimit.assumeUsed` at that time, if any. */
  readonly specAssumeUsed?: string;
  /** `spec.spendingLimit.startTime` at that time, if any. */
  readonly specStartTime?: string;
};

/** What is served for a limit that counts. */
export type LimitConfig = LimitTerms & {
  readonly policyId: string;
  readonly name: string;
  readonly shadow?: true;
  /** An organisation's budget: all its paymasters on the chain count in it. */
  readonly budget?: true;
  readonly campaign?: string;
  readonly startMs: EpochMs;
  readonly durationMs?: number;
  readonly calendar?: Calendar;
  readonly assumeUsed?: string;
  readonly specAssumeUsed?: string;
};
