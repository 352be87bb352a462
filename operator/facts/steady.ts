import type { EpochMs } from '../../core/units/time.js';

/**
 * A fact as thousands of statuses show it: a trouble only after it has lasted, and its end only after that has lasted.
 */
export type Steady<T> = {
  readonly shown: T;
  /** The last value seen, if it differs from the shown one, and since when the values seen have differed. */
  readonly pending?: { readonly value: T; readonly since: EpochMs };
};

/** A trouble shorter than this shows only on the Chain. */
export const troubleMs = 60_000;
/** A trouble counts as over when it has stayed away for this long. */
export const recoveryMs = 30_000;

export type Comparison<T> = {
  readonly isSame: (a: T, b: T) => boolean;
  readonly isGood: (value: T) => boolean;
};

export function settle<T>(steady: Steady<T>, seen: T, now: EpochMs, comparison: Comparison<T>): Steady<T> {
  const { shown, pending } = steady;
  if (comparison.isSame(shown, seen)) return { shown };
  // A trouble that turns into another one has lasted as long as both together.
  const goesOn = pending !== undefined && comparison.isGood(pending.value) === comparison.isGood(seen);
  const since = goesOn ? pending.since : now;
  const next = { shown, pending: { value: seen, since } };
  return now >= dueAt(next.pending, comparison) ? { shown: seen } : next;
}

/** Milliseconds until the last value seen is shown, if it stays; undefined when it is shown already. */
export function dueInMs<T>(
  { pending }: Steady<T>,
  now: EpochMs,
  comparison: Comparison<T>,
): number | undefined {
  return pending && Math.max(0, dueAt(pending, comparison) - now);
}

function dueAt<T>({ value, since }: NonNullable<Steady<T>['pending']>, { isGood }: Comparison<T>): number {
  return since + (isGood(value) ? recoveryMs : troubleMs);
}
