import type { InParts } from '../core/units/in-parts.js';

/** How long work at a pace holds the event loop at most, apart from its last part. */
const sliceMs = 5;

/**
 * Lets long work and everything else take turns: all work at one pace shares one slice of each turn of the event loop, however
 * much of it there is.
 */
export type Pace = {
  /** Resolves when there is time for more. Undefined: there is time now. */
  rest(): Promise<void> | undefined;
  run<T>(work: InParts<T>): Promise<T>;
};

export function createPace(
  now: () => number = () => performance.now(),
  nextTurn: (work: () => void) => unknown = setImmediate,
): Pace {
  const waiting: (() => void)[] = [];
  let sliceEndsAt = Number.NEGATIVE_INFINITY;

  function rest(): Promise<void> | undefined {
    if (now() < sliceEndsAt) return undefined;
    return new Promise((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 1) nextTurn(begin);
    });
  }

  function begin(): void {
    sliceEndsAt = now() + sliceMs;
    waiting.shift()?.();
    if (waiting.length > 0) nextTurn(begin);
  }

  return {
    rest,
    async run(work) {
      for (;;) {
        const pause = rest();
        if (pause !== undefined) await pause;
        const part = work.next();
        if (part.done === true) return part.value;
      }
    },
  };
}
