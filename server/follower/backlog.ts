import type { UsageStore } from '../../core/usage/usage-store.js';
import type { EpochMs } from '../../core/units/time.js';
import type { History } from './history.js';
import type { Scanner, Watched } from './scan.js';
import { findWaiting } from './step-readings.js';
import type { Source } from './source.js';
import { Unread } from './unread.js';
import { UnreadBlocks } from './unread-blocks.js';

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
