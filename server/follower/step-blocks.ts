import type { Block } from '../../core/chain/chain.js';
import { DomainError } from '../../core/errors.js';
import { toMs, type EpochMs, type EpochSeconds } from '../../core/units/time.js';
import type { MinedOperation } from './mined.js';
import { blockAt, type Source } from './source.js';

const readsAtOnce = 16;

/** The blocks that mined these operations; `known` is not read again. Throws UNAVAILABLE. */
export async function readBlocks(
  source: Source,
  mined: readonly Pick<MinedOperation, 'blockNumber' | 'blockHash'>[],
  known: Block,
): Promise<(blockNumber: number) => Block> {
  const blocks = new Map([[known.number, known]]);
  const hashes = new Map(mined.map(({ blockNumber, blockHash }) => [blockNumber, blockHash]));
  await someAtOnce(
    [...hashes.keys()].filter((number) => !blocks.has(number)),
    async (number) => {
      const block = await blockAt(source, number);
      if (block.hash !== hashes.get(number))
        throw new DomainError('UNAVAILABLE', `chain ${source.chainId} changed while it was read`);
      blocks.set(number, block);
    },
  );
  return (number) => {
    const block = blocks.get(number);
    if (block === undefined) throw new RangeError(`block ${number} was not read`);
    return block;
  };
}

/** When a block was made. */
export function timeOf({ timestamp }: Pick<Block, 'timestamp'>): EpochMs {
  return toMs(timestamp as EpochSeconds);
}

/** Runs `work` for each item, for a few of them at a time. */
export async function someAtOnce<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += readsAtOnce)
    await Promise.all(items.slice(at, at + readsAtOnce).map(work));
}
