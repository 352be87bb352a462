import type { Logger } from '../../../core/log.js';
import { DomainError, errorMessage } from '../../../core/errors.js';
import { systemClock } from '../../../core/units/time.js';
import { createOutageLog, type OutageLog } from '../../log/outage-log.js';
import { pause } from '../../timers.js';

const minWaitMs = 50;
const maxWaitMs = 2_000;

/** Prepares the database in the background and tries again until it works, so that a process can start while the database is away. */
export class Opening {
  readonly #stopped = new AbortController();
  readonly #prepare: () => Promise<void>;
  readonly #log: Logger;
  readonly #failures: OutageLog;
  readonly #first: Promise<void>;
  #done: Promise<void>;
  #problem: DomainError | undefined = notYet();

  constructor(prepare: () => Promise<void>, log: Logger) {
    this.#prepare = prepare;
    this.#log = log;
    this.#failures = createOutageLog({
      log,
      clock: systemClock,
      messages: {
        begins: 'usage store is not connected: nothing is signed',
        goesOn: 'usage store is still not connected',
        ends: 'connecting to the usage store no longer fails',
      },
    });
    this.#first = this.#try();
    this.#done = this.#first.catch((error: unknown) => this.#again(error));
  }

  /** Resolves when the first attempt has worked. Throws UNAVAILABLE when it has not; the next attempts go on. */
  opened(): Promise<void> {
    return this.#first;
  }

  /** Throws UNAVAILABLE until the database is prepared. */
  assertOpen(): void {
    if (this.#problem !== undefined) throw this.#problem;
  }

  /** The tables are gone: another, empty database is in the place of the one that was prepared. */
  reopen(error: unknown): void {
    if (this.#problem !== undefined || this.#stopped.signal.aborted) return;
    this.#problem = notYet(error);
    this.#done = this.#again(error);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#done;
  }

  async #try(): Promise<void> {
    try {
      await this.#prepare();
      this.#problem = undefined;
    } catch (error) {
      this.#problem = error instanceof DomainError ? error : notYet(error);
      throw error;
    }
  }

  async #again(cause: unknown): Promise<void> {
    let waitMs = minWaitMs;
    let error = cause;
    while (!this.#stopped.signal.aborted) {
      this.#failures.failed(errorMessage(error), { error });
      // Processes that lost the database together do not come back together.
      await pause(waitMs * (0.5 + Math.random() / 2), this.#stopped.signal);
      if (this.#stopped.signal.aborted) return;
      waitMs = Math.min(2 * waitMs, maxWaitMs);
      try {
        await this.#try();
        return this.#log.info('usage store is connected');
      } catch (next) {
        error = next;
      }
    }
  }
}

function notYet(cause?: unknown): DomainError {
  return new DomainError('UNAVAILABLE', 'the usage store is not connected yet', {
    reason: 'USAGE_STORE_DOWN',
    retryAfterSeconds: 1,
    ...(cause === undefined ? {} : { cause }),
  });
}
