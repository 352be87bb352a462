const tickMs = 20;
/** Timers are commonly late by a few milliseconds on an idle machine. */
const toleranceMs = 5;

/**
 * Measures how long this process was too busy to read what had arrived. That must not make a host count as slow: anyone
 * who can load this process would get past a webhook with `onError: Allow`. Measured only while a caller needs it.
 */
export class OwnStalls {
  #users = 0;
  #stalledMs = 0;
  #due = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Starts measuring unless it already runs. Each call must be followed by one `leave`. */
  enter(): void {
    this.#users += 1;
    if (this.#users === 1) this.#schedule();
  }

  leave(): void {
    this.#users -= 1;
    if (this.#users > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Milliseconds in all; only differences of two readings between `enter` and `leave` have a meaning. */
  totalMs(): number {
    const late = this.#timer === undefined ? 0 : performance.now() - this.#due;
    return this.#stalledMs + (late > toleranceMs ? late : 0);
  }

  #schedule(): void {
    this.#due = performance.now() + tickMs;
    this.#timer = setTimeout(() => {
      this.#stalledMs = this.totalMs();
      this.#schedule();
    }, tickMs);
  }
}

/** The part of {@link OwnStalls} that a budget uses. */
export type Stalls = Pick<OwnStalls, 'enter' | 'leave' | 'totalMs'>;

/** Why a call was given up: the host had its whole budget, or we had no time to read its answer. */
export type Abandoned = 'host-slow' | 'we-stalled';

/**
 * Calls `abandon` when a host has had `budgetMs` in which this process was not stalled. The time of our stalls is added
 * to the budget, up to `budgetMs` in all; beyond that the fault is ours. Returns a function that cancels.
 */
export function startBudget(stalls: Stalls, budgetMs: number, abandon: (why: Abandoned) => void): () => void {
  stalls.enter();
  const stalledBefore = stalls.totalMs();
  let given = 0;
  let timer = setTimeout(check, budgetMs);
  function check(): void {
    const owed = stalls.totalMs() - stalledBefore - given;
    if (owed < tickMs) return abandon('host-slow');
    given += owed;
    if (given > budgetMs) return abandon('we-stalled');
    timer = setTimeout(check, owed);
  }
  return () => {
    clearTimeout(timer);
    stalls.leave();
  };
}
