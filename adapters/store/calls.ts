import type { Turn } from '../../core/usage/turn.js';
import type { EpochMs } from '../../core/units/time.js';

/** A call that waits for the end of its turn. */
export type TurnCall = {
  readonly decide: (turn: Turn, now: EpochMs) => unknown;
  readonly promisesNothing: ((result: never) => boolean) | undefined;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
};

type Decided = { readonly call: TurnCall; readonly result: unknown };

/** Decides one call after the other; one that throws is rejected, and has changed nothing. */
export function decideAll(calls: readonly TurnCall[], turn: Turn, now: EpochMs): readonly Decided[] {
  return calls.flatMap((call) => {
    try {
      return [{ call, result: call.decide(turn, now) }];
    } catch (error) {
      call.reject(error);
      return [];
    }
  });
}

/**
 * Answers refusals, and returns the answer to the others, for when the turn is durable. A refusal promises nothing, so it need not wait
 * for the commit of a generation that came with it.
 */
export function answerRefusals(decided: readonly Decided[]): () => void {
  const waiting = decided.filter(({ call, result }) => {
    const isRefusal = call.promisesNothing?.(result as never) === true;
    if (isRefusal) call.resolve(result as never);
    return !isRefusal;
  });
  return () => {
    for (const { call, result } of waiting) call.resolve(result as never);
  };
}
