const tickMs = 20;
/** Timers are commonly late by a few milliseconds on an idle machine. */
const toleranceMs = 5;

/**
 * How long this process was too busy to read what had arrived. A host must not be called slow for that: anyone who can load
 * this process would get past a webhook with `onError: Allow`. Measured only while somebody asks for it.
 */
export class OwnStalls {
  #users = 0;
  #stalledMs = 0;
  #due = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Starts measuring, where nobody did. Each call must be followed by one `leave`. */
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

  /** Milliseconds in all; differences of two readings between `enter` and `leave` mean something. */
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

/** What a budget reads of {@link OwnStalls}. */
export type Stalls = Pick<OwnStalls, 'enter' | 'leave' | 'totalMs'>;

/** Why a call was given up: the host had its whole budget, or we had no time to read its answer. */
export type Abandoned = 'host-slow' | 'we-stalled';

/**
 * Calls `abandon` when a host has had `budgetMs` in which this process was not stalled; what we lost is given to it on top,
 * up to the same time once more, after which it is our fault. Returns a function that cancels.
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
