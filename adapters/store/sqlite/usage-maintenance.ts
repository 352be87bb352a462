import type { Logger } from '../../../core/log.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { UsageTables } from './usage-tables.js';

const forgetEveryMs = 60_000;
/** After this many rows a checkpoint moves committed data into the main file; some megabytes. */
const checkpointRows = 8_000;
/** For this many turns of the event loop a checkpoint waits at most while answers wait for their commit. */
const mostPostponed = 20;
/** A store with little use gets a checkpoint this long after its last commit. */
const checkpointIdleMs = 1_000;

/**
 * Keeps memory and files bounded. Checkpoints run between turns of the event loop, never inside a commit: before a
 * waiting commit, they would add their time to each answer of its turn.
 */
export class UsageMaintenance {
  readonly #tables: UsageTables;
  readonly #log: Logger;
  readonly #isBusy: () => boolean;
  readonly #forget: (now: EpochMs) => void;
  #rows = 0;
  #postponed = 0;
  #due: NodeJS.Immediate | undefined;
  #idle: NodeJS.Timeout | undefined;
  #forgetAt = 0;

  constructor(deps: {
    readonly tables: UsageTables;
    readonly log: Logger;
    readonly isBusy: () => boolean;
    /** Called once a minute, after a commit. */
    readonly forget: (now: EpochMs) => void;
  }) {
    this.#tables = deps.tables;
    this.#log = deps.log;
    this.#isBusy = deps.isBusy;
    this.#forget = deps.forget;
  }

  /** Called after a transaction that has written this many rows. */
  afterCommit(rows: number, now: EpochMs): void {
    this.#rows += rows;
    if (now >= this.#forgetAt || now < this.#forgetAt - 2 * forgetEveryMs) {
      this.#forgetAt = now + forgetEveryMs;
      this.#forget(now);
    }
    if (this.#rows >= checkpointRows) this.#due ??= setImmediate(() => this.#checkpoint());
    this.#watchIdle();
  }

  stop(): void {
    clearImmediate(this.#due);
    clearTimeout(this.#idle);
  }

  #watchIdle(): void {
    this.#idle ??= setTimeout(() => this.#checkpointWhenIdle(this.#rows), checkpointIdleMs).unref();
  }

  #checkpointWhenIdle(rowsBefore: number): void {
    this.#idle = undefined;
    if (this.#rows === rowsBefore) this.#checkpoint();
    else if (this.#rows > 0) this.#watchIdle();
  }

  #checkpoint(): void {
    this.#due = undefined;
    if (this.#rows === 0) return;
    if (this.#isBusy() && this.#postponed < mostPostponed) {
      this.#postponed += 1;
      this.#due = setImmediate(() => this.#checkpoint());
      return;
    }
    this.#rows = 0;
    this.#postponed = 0;
    try {
      this.#tables.checkpoint();
    } catch (error) {
      this.#log.warn('checkpoint of the usage store failed', { error });
    }
  }
}
