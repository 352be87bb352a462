import { isDomainError } from '../../core/errors.js';
import type { EpochMs } from '../../core/units/time.js';
import type { MinedOperation } from './mined.js';
import type { Scanner, Watched } from './scan.js';
import { blockAt, connections, type Source } from './source.js';
import { mostTries, pauseAfter, retriesAtOnce } from './unread.js';

type Tries = { readonly attempts: number; readonly tries: number; readonly nextAt: EpochMs };

/** What a round has read of blocks whose logs were not shown before. */
export type BlocksRead = {
  readonly operations: readonly MinedOperation[];
  readonly read: readonly number[];
  /** Blocks that are still not shown, and whether the try counts. */
  readonly failed: readonly { readonly block: number; readonly counts: boolean }[];
};

/**
 * Settled blocks of which no node has shown the events: a single query for one contract was refused, while others were answered. Their
 * operations settle when a node shows the block. After {@link mostTries} tries their promises end by their nonces, as those of hidden
 * operations do.
 */
export class UnreadBlocks {
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
    if (tries >= mostTries) return this.#blocks.delete(block);
    const counted = tries + (counts ? 1 : 0);
    const nextAt = (now + pauseAfter(counted)) as EpochMs;
    this.#blocks.set(block, { attempts: attempts + 1, tries: counted, nextAt });
    return false;
  }
}
