import type { Cursor, TakenStep } from './follower-step.js';

/** Stores keep at most so many steps of a chain, and drop the oldest when they ended more reservations: some megabytes. */
export const maxTakenSteps = 256;
export const maxTakenEndings = 10_000;

/**
 * The newest steps without a gap between them, the oldest first: they lead to the cursor. A release that keeps no steps leaves
 * such gaps.
 */
export function stepsTo(cursor: Cursor | undefined, steps: readonly TakenStep[]): readonly TakenStep[] {
  let first = steps.length;
  let at = cursor;
  while (first > 0 && at !== undefined && isSame(steps[first - 1]!.next, at)) {
    first -= 1;
    at = steps[first]!.from;
  }
  return steps.slice(first);
}

/** Steps whose parts are rows of one number, in their order. */
export function joinParts(
  rows: Iterable<{ readonly number: number; readonly step: TakenStep }>,
): readonly TakenStep[] {
  const steps = new Map<number, TakenStep>();
  for (const { number, step } of rows) {
    const before = steps.get(number);
    steps.set(number, before === undefined ? step : { ...before, ended: [...before.ended, ...step.ended] });
  }
  return [...steps.values()];
}

function isSame(one: Cursor, other: Cursor): boolean {
  return one.blockNumber === other.blockNumber && one.blockHash === other.blockHash;
}
