import type { Clock } from '../../core/units/time.js';

export type BreakerLimits = {
  /** Unanswered calls in a row after which the host is not called. */
  readonly failures: number;
  readonly openMs: number;
};

/**
 * Stops calling a host that does not answer, so that its users get their refusal at once and our sockets stay free. The
 * breaker opens after `failures` in a row, for `openMs`; then one trial call is let through, and its result decides.
 *
 * Only the absence of an answer counts as failure: the data of one user can provoke an HTTP 500 or a malformed body,
 * and must not shut the webhook for all others.
 */
export class Breaker {
  readonly #clock: Clock;
  readonly #limits: BreakerLimits;
  #failed = 0;
  #openUntil = 0;
  #isProbing = false;

  constructor(clock: Clock, limits: BreakerLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** True when a call may be made now; each true must be followed by one `record`. */
  tryEnter(): boolean {
    if (this.#failed < this.#limits.failures) return true;
    if (this.#isProbing || this.#clock.now() < this.#openUntil) return false;
    this.#isProbing = true;
    return true;
  }

  /** `undefined` when the host was not called after all. */
  record(didAnswer: boolean | undefined): void {
    this.#isProbing = false;
    if (didAnswer === undefined) return;
    if (didAnswer) {
      this.#failed = 0;
      return;
    }
    this.#failed += 1;
    if (this.#failed >= this.#limits.failures) this.#openUntil = this.#clock.now() + this.#limits.openMs;
  }

  get isOpen(): boolean {
    return this.#failed >= this.#limits.failures;
  }
}
