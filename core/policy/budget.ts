import type { Enforcement } from '../meta/schema-parts.js';
import type { CycleUnit } from '../units/time.js';
import type { Calendar } from '../usage/calendar.js';

/** Bounds what all paymasters of the organisation sponsor on one chain together. */
export type Budget = {
  readonly name: string;
  readonly chain: number;
  /** Exact decimal text. */
  readonly usd: string;
  /** Absent: Enforce. */
  readonly enforcement?: Enforcement;
  /** RFC 3339. Another time than before starts the count anew. */
  readonly restartedAt?: string;
  /** How much of an endless budget counts as used since `restartedAt`. */
  readonly assumeUsed?: string;
  /** Exactly one of these three. */
  readonly cycleDuration?: { readonly value: number; readonly unit: CycleUnit };
  readonly calendar?: Calendar;
  readonly never?: object;
};
