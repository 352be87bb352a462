import type { Turn } from '../../core/usage/turn.js';
import type { EpochMs } from '../../core/units/time.js';

/** A call that waits for the end of its turn. */
export type TurnCall = {
  readonly decide: (turn: Turn, now: EpochMs) => unknown;
  readonly promisesNothing: ((result: never) => boolean) | undefined;
  readonly answer: { resolve(result: never): void; reject(error: unknown): void };
};

/** What `decide` has answered, or thrown. */
export type Decided = {
  readonly call: TurnCall;
  readonly result: unknown;
  readonly thrown: { readonly error: unknown } | undefined;
};

/** Decides one call after the other, and adds what was decided to the list; a call that throws has changed nothing. */
export function decideAll(calls: readonly TurnCall[], turn: Turn, now: EpochMs, decided: Decided[]): void {
  for (const call of calls)
    try {
      decided.push({ call, result: call.decide(turn, now), thrown: undefined });
    } catch (error) {
      decided.push({ call, result: undefined, thrown: { error } });
    }
}

/** A refusal promises nothing, so it need not wait for the commit of a generation that came with it, and counts without it. */
export function isRefusal({ call, result, thrown }: Decided): boolean {
  return thrown !== undefined || call.promisesNothing?.(result as never) === true;
}

/** Answers a call once its turn is durable, or a refusal at any time. */
export function answer({ call, result, thrown }: Decided): void {
  if (thrown === undefined) call.answer.resolve(result as never);
  else call.answer.reject(thrown.error);
}
