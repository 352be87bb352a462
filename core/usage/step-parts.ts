import type { FollowerStep, StepResult } from './follower-step.js';

/**
 * A long step is carried out in parts, one in each turn, so that other turns do not wait for it. Changes that take come first: restored
 * reservations, charges and balances. Then reservations end, and the last part moves the cursor. Between two parts the step is
 * stored, and a process that begins another step finishes it first, see {@link OpenStep}.
 *
 *     decided ── the only part ──────────────────────────────────► taken
 *     decided ── the first of several parts ─────────────────────► open
 *     decided ── the cursor has moved, another step is open ──► dropped
 *     open    ── the last part ──────────────────────────────────► taken
 *     taken   ── a step with takesBackAfter below it ────────────► undone
 *
 * Every arrow is `Turn.advance`. Stores forget the oldest steps that were taken (`taken-step.ts`): those can no longer be undone.
 */
export const itemsPerPart = 100;

/** A step that has begun and has not ended. */
export type OpenStep = {
  readonly step: FollowerStep;
  /** The number of the turn that began it; no other step of the chain has the same. */
  readonly sequence: number;
  /** Number of items that are carried out: restored reservations and endings, in the order of {@link sliceOfStep}. */
  readonly done: number;
};

/** How far an open step is, as the chain's row stores it. */
export type StepProgress = Pick<OpenStep, 'sequence' | 'done'>;

export function countItems({ restored, settled, released, forfeited }: FollowerStep): number {
  return restored.length + settled.length + released.length + forfeited.length;
}

/** Items `from` to `from + itemsPerPart` of a step. The first part also has the changes that take, the last one those that give back. */
export function sliceOfStep(step: FollowerStep, from: number): FollowerStep {
  const to = from + itemsPerPart;
  let before = 0;
  const within = <T>(items: readonly T[]): readonly T[] => {
    const found = items.slice(Math.max(0, from - before), Math.max(0, to - before));
    before += items.length;
    return found;
  };
  const isFirst = from === 0;
  const isLast = to >= countItems(step);
  return {
    ...step,
    restored: within(step.restored),
    settled: within(step.settled),
    released: within(step.released),
    forfeited: within(step.forfeited),
    records: isFirst ? (step.records ?? []) : [],
    balances: isFirst ? step.balances : [],
    charges: step.charges.filter(({ amount }) => (amount > 0 ? isFirst : isLast)),
  };
}

/** Adds the result of the next part. */
export function joinResults(one: StepResult, next: StepResult): StepResult {
  if (!one.isTaken || !next.isTaken) return next;
  const { orders } = one;
  const more = next.orders;
  return {
    isTaken: true,
    ended: [...one.ended, ...next.ended],
    ...(orders === undefined || more === undefined
      ? {}
      : { orders: { restored: orders.restored, ended: [...orders.ended, ...more.ended] } }),
  };
}
