import type { Logger } from '../../../core/log.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { FundingMessage, Usage, UsageTables } from './usage-tables.js';

const forgetEveryMs = 60_000;
const countersPerTurn = 1_000;
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
export class UsageUpkeep {
  readonly #tables: UsageTables;
  readonly #log: Logger;
  readonly #isBusy: () => boolean;
  #rows = 0;
  #postponed = 0;
  #due: NodeJS.Immediate | undefined;
  #idle: NodeJS.Timeout | undefined;
  #forgetAt = 0;

  constructor(deps: { readonly tables: UsageTables; readonly log: Logger; readonly isBusy: () => boolean }) {
    this.#tables = deps.tables;
    this.#log = deps.log;
    this.#isBusy = deps.isBusy;
  }

  /** Called after a transaction that has written this many rows. */
  afterCommit(rows: number): void {
    this.#rows += rows;
    if (this.#rows >= checkpointRows) this.#due ??= setImmediate(() => this.#checkpoint());
    this.#idle ??= setTimeout(() => this.#checkpointWhenIdle(this.#rows), checkpointIdleMs).unref();
  }

  /** Once a minute, forgets windows that have ended, some per turn. True when there is something to commit. */
  forget(usage: Usage, messages: Map<string, FundingMessage | undefined>, now: EpochMs): boolean {
    if (now < this.#forgetAt && now > this.#forgetAt - 2 * forgetEveryMs) return false;
    let isMore = false;
    for (const chain of usage.chains.values()) isMore = chain.forget(now, countersPerTurn) || isMore;
    for (const [paymasterId, { expiresAt }] of usage.messages) {
      if (expiresAt > now) continue;
      usage.messages.delete(paymasterId);
      messages.set(paymasterId, undefined);
    }
    if (!isMore) this.#forgetAt = now + forgetEveryMs;
    return messages.size > 0 || [...usage.chains.values()].some((chain) => chain.hasChanged);
  }

  stop(): void {
    clearImmediate(this.#due);
    clearTimeout(this.#idle);
  }

  #checkpointWhenIdle(rowsBefore: number): void {
    this.#idle = undefined;
    if (this.#rows === rowsBefore) this.#checkpoint();
    else if (this.#rows > 0) this.afterCommit(0);
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
