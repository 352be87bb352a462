import { isDomainError } from '../../core/errors.js';
import type { EpochMs } from '../../core/units/time.js';
import type { Charge } from '../../core/usage/follower-step.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { History, Ended } from './history.js';
import { byOperation, operationId, type MinedOperation } from './mined.js';
import type { Part } from './movements.js';
import type { Refused, Scanner, Watched } from './scan.js';
import { blockAt, connections, promisesFor, type Source } from './source.js';

/** Blocks in which a follower looks for operations that the one before it waited for. */
const maxLookedBack = 5_000;

/** What a follower has passed and not read: operations, and blocks. Nothing but their own promises waits for them. */
export class Backlog {
  readonly operations = new Unread();
  readonly blocks = new UnreadBlocks();
  /** True when others have taken steps: one of them may wait for something. */
  #mayOthersWait = true;

  get waiting(): number {
    return this.operations.waiting + this.blocks.waiting;
  }

  isDue(now: EpochMs): boolean {
    return this.operations.due(now).length > 0 || this.blocks.isDue(now);
  }

  /** Others have taken steps, so what is known here may have ended. */
  overtaken(): void {
    this.operations.clear();
    this.blocks.clear();
    this.#mayOthersWait = true;
  }

  /** Finds what the follower before this one waited for. Throws UNAVAILABLE. */
  async takeOver(
    reading: { readonly usage: Pick<UsageStore, 'reservations'>; readonly source: Source },
    history: History,
    scanner: Scanner,
    wanted: Watched,
    now: EpochMs,
  ): Promise<void> {
    if (!this.#mayOthersWait) return;
    const refused: number[] = [];
    const found = await findWaiting(reading, history, scanner, wanted, (block) => refused.push(block));
    for (const operation of found) this.operations.add(operation, now);
    this.blocks.add(refused, now);
    this.#mayOthersWait = false;
  }

  /** A reorganisation has removed the blocks above this one. */
  rollBack(blockNumber: number): void {
    this.operations.rollBack(blockNumber);
    this.blocks.rollBack(blockNumber);
  }
}

/**
 * Operations that the follower before this one waited for: mined in blocks of remembered steps, ended by none of them, and still
 * promised. `refused` gets the blocks that cannot be read. Throws UNAVAILABLE.
 */
async function findWaiting(
  { usage, source }: Parameters<Backlog['takeOver']>[0],
  history: History,
  scanner: Scanner,
  wanted: Watched,
  refused: Refused,
): Promise<readonly MinedOperation[]> {
  const points = history.points();
  const [newest, oldest] = [points[0], points.at(-1)];
  if (newest === undefined || oldest === undefined) return [];
  const from = Math.max(oldest.blockNumber + 1, newest.blockNumber - maxLookedBack + 1);
  const mined = await scanner.operations(source.chain, wanted, from, newest.blockNumber, refused);
  const open = mined.filter((operation) => !history.hasEnded(operationId(operation)));
  if (open.length === 0) return [];
  const promised = byOperation(await promisesFor(usage, source, open));
  return open.filter((operation) => promised.has(operationId(operation)));
}

// What no node has shown about mined operations so far. Nothing waits for such an operation but its own promises.

/** Tries after which an operation is settled without what could not be read. */
export const maxTries = 8;
/** Pause after the first try. It doubles with each try that counts, so eight of them take more than ten minutes. */
const firstPauseMs = 5_000;
/** An operation that was settled without is tried again, ever more rarely, until the pause would exceed this. */
const maxPauseMs = 86_400_000;
/** Operations that are tried again in one round: what a node is slow to refuse must not hold up the chain. */
export const retriesAtOnce = 16;
/** Most operations that wait. Further ones are settled at once without what could not be read. */
const maxWaiting = 5_000;

/** The pause after so many tries that count. The last one is followed by one more at once, which ends the wait. */
export function pauseAfter(tries: number): number {
  return tries === maxTries ? 0 : firstPauseMs * 2 ** Math.max(0, tries - 1);
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
    return item === undefined ? this.waiting < maxWaiting : item.tries < maxTries;
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
    if (this.waiting >= maxWaiting || this.#items.has(id)) return;
    this.#items.set(id, { operation, isLate: false, attempts: 0, tries: 0, nextAt: now });
  }

  /** True when the operation begins to wait. */
  failed({ operation, isLate, counts }: Failure, now: EpochMs): boolean {
    const id = operationId(operation);
    const known = this.#items.get(id);
    const attempts = (known?.attempts ?? 0) + 1;
    const tries = (known?.tries ?? 0) + (counts ? 1 : 0);
    const pauseMs = pauseAfter(tries);
    if (pauseMs > maxPauseMs) this.#items.delete(id);
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
    if (passed.ended.length + passed.charges.length === 0 || this.#items.size >= 2 * maxWaiting) return;
    const nextAt = (now + firstPauseMs * 2 ** maxTries) as EpochMs;
    const tries = maxTries + 1;
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

type Tries = { readonly attempts: number; readonly tries: number; readonly nextAt: EpochMs };

/** What a round has read of blocks whose logs were not shown before. */
type BlocksRead = {
  readonly operations: readonly MinedOperation[];
  readonly read: readonly number[];
  /** Blocks that are still not shown, and whether the try counts. */
  readonly failed: readonly { readonly block: number; readonly counts: boolean }[];
};

/**
 * Settled blocks of which no node has shown the events: a single query for one contract was refused, while others were answered. Their
 * operations settle when a node shows the block. After {@link maxTries} tries their promises end by their nonces, as those of hidden
 * operations do.
 */
class UnreadBlocks {
  #blocks = new Map<number, Tries>();

  get waiting(): number {
    return this.#blocks.size;
  }

  isDue(now: EpochMs): boolean {
    return this.#due(now).length > 0;
  }

  /** Throws UNAVAILABLE when the usual connection lacks a block that it has shown. */
  async read(source: Source, scanner: Scanner, wanted: Watched, now: EpochMs): Promise<BlocksRead> {
    const found = await Promise.all(
      this.#due(now).map(async ([block, { attempts }]) => {
        const asked = connections(source, attempts);
        const { hash } = await blockAt(source, block);
        for (const chain of asked)
          try {
            // Another node may lack the block, and then answers no events, or be on another branch.
            const isSame = chain === source.chain || (await chain.block(block))?.hash === hash;
            if (isSame) return { block, operations: await scanner.block(chain, wanted, block) };
          } catch (error) {
            if (!isDomainError(error, 'UNAVAILABLE')) throw error;
          }
        const shown = await Promise.all(asked.map((chain) => chain.block(block).catch(() => undefined)));
        return { block, counts: shown.slice(asked.length > 1 ? 1 : 0).some((one) => one !== undefined) };
      }),
    );
    return {
      operations: found.flatMap(({ operations = [] }) => operations),
      read: found.flatMap(({ block, operations }) => (operations === undefined ? [] : [block])),
      failed: found.flatMap(({ block, counts }) => (counts === undefined ? [] : [{ block, counts }])),
    };
  }

  /** The step that read this was taken. `refused`: blocks that were not shown to it. Answers the blocks that are passed over. */
  taken({ read, failed }: BlocksRead, refused: readonly number[], now: EpochMs): readonly number[] {
    for (const block of read) this.#blocks.delete(block);
    this.add(refused, now);
    return failed.filter(({ block, counts }) => this.#failed(block, counts, now)).map(({ block }) => block);
  }

  /** Blocks that were refused. */
  add(refused: readonly number[], now: EpochMs): void {
    for (const block of refused) if (!this.#blocks.has(block)) this.#failed(block, true, now);
  }

  /** A reorganisation has removed the blocks above this one. */
  rollBack(blockNumber: number): void {
    this.#blocks = new Map([...this.#blocks].filter(([block]) => block <= blockNumber));
  }

  clear(): void {
    this.#blocks.clear();
  }

  #due(now: EpochMs) {
    return [...this.#blocks].filter(([, { nextAt }]) => nextAt <= now).slice(0, retriesAtOnce);
  }

  /** True when that was the last try. */
  #failed(block: number, counts: boolean, now: EpochMs): boolean {
    const { attempts, tries } = this.#blocks.get(block) ?? { attempts: 0, tries: 0 };
    if (tries >= maxTries) return this.#blocks.delete(block);
    const counted = tries + (counts ? 1 : 0);
    const nextAt = (now + pauseAfter(counted)) as EpochMs;
    this.#blocks.set(block, { attempts: attempts + 1, tries: counted, nextAt });
    return false;
  }
}
