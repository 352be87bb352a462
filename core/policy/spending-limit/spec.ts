import type { Infer } from '../../schema/structural.js';
import type { EpochMs } from '../../units/time.js';
import type { Calendar } from '../../usage/calendar.js';
import type { cycleStatus, spendingLimitSchema } from './schema.js';

export type SpendingLimitSpec = Infer<typeof spendingLimitSchema>;

/** A limit that counts by cycles. */
export type CountedSpec = SpendingLimitSpec & Required<Pick<SpendingLimitSpec, 'threshold'>>;

export function isCounted(spec: SpendingLimitSpec): spec is CountedSpec {
  return spec.threshold !== undefined;
}

/** As in the resource. */
export type LimitTerms = Pick<CountedSpec, 'scope' | 'threshold' | 'thresholdType'>;

/** The cycle in force, with the fields for which it was started, so that a change differs from a re-apply. */
export type CycleStatus = Infer<typeof cycleStatus>;

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
