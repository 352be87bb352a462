import type { Logger } from '../../../core/log.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { UsageTables } from './usage-tables.js';

const forgetEveryMs = 60_000;
/** After this many rows the log of commits is looked at. */
const lookRows = 250;
/** A log shorter than this goes on: 8 MB. */
const longLog = 2_000;
/** Moving so few pages takes some milliseconds: the thread of the ledger has moved the others. */
const fewPages = 400;
/** When no such thread is there, or it does not keep up: 20 MB, which hold the thread that signs for about 30 ms. */
const maxPages = 5_000;
/** A store with little use gets a checkpoint this long after its last commit. */
const checkpointIdleMs = 1_000;

/**
 * Keeps memory and files bounded. The log of commits starts again once all of it has been moved into the main file. The thread of the ledger
 * moves most of it, but while turns write, something is always left: that is moved here, where nothing is written meanwhile.
 */
export class UsageMaintenance {
  readonly #tables: UsageTables;
  readonly #log: Logger;
  readonly #forget: (now: EpochMs) => void;
  #rows = 0;
  #rowsUntilLook = lookRows;
  #due: NodeJS.Immediate | undefined;
  #idle: NodeJS.Timeout | undefined;
  #forgetAt = 0;

  constructor(deps: {
    readonly tables: UsageTables;
    readonly log: Logger;
    /** Called once a minute, after a commit. */
    readonly forget: (now: EpochMs) => void;
  }) {
    this.#tables = deps.tables;
    this.#log = deps.log;
    this.#forget = deps.forget;
  }

  /** Called after a transaction that has written this many rows. */
  afterCommit(rows: number, now: EpochMs): void {
    this.#rows += rows;
    this.#rowsUntilLook -= rows;
    if (now >= this.#forgetAt || now < this.#forgetAt - 2 * forgetEveryMs) {
      this.#forgetAt = now + forgetEveryMs;
      this.#forget(now);
    }
    if (this.#rowsUntilLook <= 0) this.#due ??= setImmediate(() => this.#look());
    this.#watchIdle();
  }

  stop(): void {
    clearImmediate(this.#due);
    clearTimeout(this.#idle);
  }

  #look(): void {
    this.#due = undefined;
    this.#rowsUntilLook = lookRows;
    this.#tried(() => {
      const { pages, left } = this.#tables.logOfCommits();
      if ((pages >= longLog && left <= fewPages) || left >= maxPages) this.#checkpoint();
    });
  }

  #watchIdle(): void {
    const rows = this.#rows;
    this.#idle ??= setTimeout(() => this.#checkpointWhenIdle(rows), checkpointIdleMs).unref();
  }

  #checkpointWhenIdle(rowsBefore: number): void {
    this.#idle = undefined;
    if (this.#rows === 0) return;
    if (this.#rows === rowsBefore) this.#tried(() => this.#checkpoint());
    else this.#watchIdle();
  }

  #checkpoint(): void {
    this.#rows = 0;
    this.#tables.checkpoint();
  }

  #tried(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#log.warn('checkpoint of the usage store failed', { error });
    }
  }
}
