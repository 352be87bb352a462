import type { Gate } from '../fair-slots.js';

/** The pace follows the answers so often. */
const adaptEveryMs = 250;
/** What a timer that fires late may make up for. */
const slackMs = 20;
/** Calls a second at least: with none, nobody would notice that the signer answers again. */
const slowest = 1_000 / adaptEveryMs;
/** The first step up after a refusal; each further one is twice as large. */
const firstStep = 0.05;

/** The calls of a signer elsewhere begin through this gate. */
export type Pace = Gate & {
  /** A call was answered that there are too many. */
  throttled(): void;
};

/**
 * How fast a signer elsewhere may be called, which its answers tell: clouds have quotas, which our other replicas use, too.
 *
 * - Nothing is held back until a call is throttled.
 * - A span of time in which calls were throttled sets the pace to what the signer took in it, at most by half lower.
 * - A span in which none was, although calls waited for the gate, raises it.
 *
 * So one call in some dozens is throttled, instead of each caller trying again by himself. `now`: milliseconds.
 */
export function createPace(now: () => number = () => performance.now()): Pace {
  let perSecond: number | undefined;
  let step = firstStep;
  let nextAt = 0;
  let span = { startedAt: now(), begun: 0, throttled: 0, hasWaited: false };

  function adapt(): void {
    const { startedAt, begun, throttled, hasWaited } = span;
    const spanMs = now() - startedAt;
    if (spanMs < adaptEveryMs) return;
    span = { startedAt: now(), begun: 0, throttled: 0, hasWaited: false };
    if (perSecond === undefined) return;
    if (throttled > 0) {
      const taken = (1_000 * Math.max(0, begun - throttled)) / spanMs;
      perSecond = Math.max(slowest, perSecond / 2, Math.min(perSecond, taken));
      step = firstStep;
    } else if (hasWaited) {
      perSecond *= 1 + step;
      step = Math.min(1, 2 * step);
    }
  }

  return {
    delayMs() {
      adapt();
      if (perSecond === undefined || nextAt <= now()) return 0;
      span.hasWaited = true;
      return nextAt - now();
    },
    pass() {
      span.begun += 1;
      if (perSecond !== undefined) nextAt = Math.max(nextAt, now() - slackMs) + 1_000 / perSecond;
    },
    throttled() {
      adapt();
      span.throttled += 1;
      if (perSecond !== undefined) return;
      perSecond = Math.max(slowest, (1_000 * span.begun) / adaptEveryMs);
      nextAt = now() + 1_000 / perSecond;
    },
  };
}
