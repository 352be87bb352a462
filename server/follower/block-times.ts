import type { Block } from '../../core/chain/chain.js';
import { DomainError } from '../../core/errors.js';
import { toMs, type EpochMs, type EpochSeconds } from '../../core/units/time.js';
import type { MinedOperation } from './mined.js';
import { blockAt, type Source } from './source.js';

const readsAtOnce = 16;

/** Times of the blocks that mined these operations; `known` is not read again. Throws UNAVAILABLE. */
export async function blockTimes(
  source: Source,
  mined: readonly Pick<MinedOperation, 'blockNumber' | 'blockHash'>[],
  known: Pick<Block, 'number' | 'timestamp'>,
): Promise<(blockNumber: number) => EpochMs> {
  const times = new Map([[known.number, known.timestamp]]);
  const hashes = new Map(mined.map(({ blockNumber, blockHash }) => [blockNumber, blockHash]));
  const wanted = [...hashes.keys()].filter((number) => !times.has(number));
  for (let at = 0; at < wanted.length; at += readsAtOnce)
    await Promise.all(
      wanted.slice(at, at + readsAtOnce).map(async (number) => {
        const { hash, timestamp } = await blockAt(source, number);
        if (hash !== hashes.get(number))
          throw new DomainError('UNAVAILABLE', `chain ${source.chainId} changed while it was read`);
        times.set(number, timestamp);
      }),
    );
  return (number) => {
    const timestamp = times.get(number);
    if (timestamp === undefined) throw new RangeError(`the time of block ${number} was not read`);
    return toMs(timestamp as EpochSeconds);
  };
}
