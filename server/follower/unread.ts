import type { Charge } from '../../core/usage/follower-step.js';
import type { EpochMs } from '../../core/units/time.js';
import { operationId, type MinedOperation } from './mined.js';
import type { Part } from './movements.js';
import type { Ended } from './undo.js';

// What no node has shown about mined operations so far. Nothing waits for such an operation but its own promises.

/** Tries after which an operation is settled without what could not be read. */
export const mostTries = 8;
/** Pause after the first try. It doubles with each try that counts, so eight of them take more than ten minutes. */
const firstPauseMs = 5_000;
/** An operation that was settled without is tried again, ever more rarely, until the pause would exceed this. */
const longestPauseMs = 86_400_000;
/** Operations that are tried again in one round: what a node is slow to refuse must not hold up the chain. */
export const retriesAtOnce = 16;
/** Most operations that wait. Further ones are settled at once without what could not be read. */
const mostWaiting = 5_000;

/** The pause after so many tries that count. The last one is followed by one more at once, which ends the wait. */
export function pauseAfter(tries: number): number {
  return tries === mostTries ? 0 : firstPauseMs * 2 ** Math.max(0, tries - 1);
}

/** What an operation was settled to without what could not be read. */
export type Passed = {
  readonly ended: readonly Ended[];
  readonly charges: readonly Charge[];
  /** What was recorded of it. */
  readonly parts: readonly Part[];
};

/** How a try went. `counts`: the connection that did not show it has shown its block. */
export type Failure = {
  readonly operation: MinedOperation;
  /** The operation may have been settled when it was mined, so only a digest proves whose it is. */
  readonly isLate: boolean;
  readonly counts: boolean;
};

type Item = Omit<Failure, 'counts'> & {
  /** Tries, and those that count. */
  readonly attempts: number;
  readonly tries: number;
  readonly nextAt: EpochMs;
  readonly passed?: Passed;
};

/** Remembers the operations that could not be read, and says when to try again. */
export class Unread {
  #items = new Map<string, Item>();

  /** Operations that are not settled because of it. */
  get waiting(): number {
    return [...this.#items.values()].filter(({ passed }) => passed === undefined).length;
  }

  isWaiting(id: string): boolean {
    const item = this.#items.get(id);
    return item !== undefined && item.passed === undefined;
  }

  /** Whether there is still a try left before the operation is settled without. */
  mayWait(operation: MinedOperation): boolean {
    const item = this.#items.get(operationId(operation));
    return item === undefined ? this.waiting < mostWaiting : item.tries < mostTries;
  }

  passed(operation: MinedOperation): Passed | undefined {
    return this.#items.get(operationId(operation))?.passed;
  }

  /** Selects the connection that is asked besides the usual one. */
  attempt(operation: MinedOperation): number {
    return this.#items.get(operationId(operation))?.attempts ?? 0;
  }

  /** The operations to try now: at most {@link retriesAtOnce}, those that wait first. */
  due(now: EpochMs): readonly Item[] {
    return [...this.#items.values()]
      .filter(({ nextAt }) => nextAt <= now)
      .toSorted(
        (a, b) => Number(a.passed !== undefined) - Number(b.passed !== undefined) || a.nextAt - b.nextAt,
      )
      .slice(0, retriesAtOnce);
  }

  /** Another follower was waiting for it. */
  add(operation: MinedOperation, now: EpochMs): void {
    const id = operationId(operation);
    if (this.waiting >= mostWaiting || this.#items.has(id)) return;
    this.#items.set(id, { operation, isLate: false, attempts: 0, tries: 0, nextAt: now });
  }

  /** True when the operation begins to wait. */
  failed({ operation, isLate, counts }: Failure, now: EpochMs): boolean {
    const id = operationId(operation);
    const known = this.#items.get(id);
    const attempts = (known?.attempts ?? 0) + 1;
    const tries = (known?.tries ?? 0) + (counts ? 1 : 0);
    const pauseMs = pauseAfter(tries);
    if (pauseMs > longestPauseMs) this.#items.delete(id);
    else {
      const nextAt = (now + pauseMs) as EpochMs;
      this.#items.set(id, { ...known, operation, isLate, attempts, tries, nextAt });
    }
    return known === undefined;
  }

  /** The step has settled these: nothing more is read about them. */
  settled(operations: Iterable<MinedOperation>): void {
    for (const operation of operations) this.#items.delete(operationId(operation));
  }

  /** The step has settled it without what could not be read. */
  pass(operation: MinedOperation, passed: Passed, now: EpochMs): void {
    if (passed.ended.length + passed.charges.length === 0 || this.#items.size >= 2 * mostWaiting) return;
    const nextAt = (now + firstPauseMs * 2 ** mostTries) as EpochMs;
    const tries = mostTries + 1;
    this.#items.set(operationId(operation), { operation, isLate: false, attempts: 0, tries, nextAt, passed });
  }

  /** A reorganisation has removed the blocks above this one. */
  rollBack(blockNumber: number): void {
    this.#items = new Map(
      [...this.#items].filter(([, { operation }]) => operation.blockNumber <= blockNumber),
    );
  }

  clear(): void {
    this.#items.clear();
  }
}
