import type { Block, Chain } from '../../core/chain/chain.js';
import type { Cursor } from '../../core/usage/usage-store.js';
import type { EpochMs } from '../../core/units/time.js';

/** A node that lags shows a head that is at most this old. */
const lagSeconds = 120;
/** How long a node may show a shorter and older chain, or lack a block, before that chain is taken for the real one. */
const catchUpMs = 15_000;

/** `waiting`: a node that lags shows the same chain, or may. `broken`: the settled block is not a part of the chain any longer. */
export type ContinuityState = 'whole' | 'waiting' | 'broken';

/** Tells a reorganisation below the settled block from one of several nodes, behind a load balancer, that lags. */
export class Continuity {
  /** Since when the node shows a chain that may be ours, only shorter. */
  #behindSince: EpochMs | undefined;

  /** `points`: positions that are remembered. Throws UNAVAILABLE. */
  async of(
    chain: Chain,
    stored: Cursor,
    head: Block,
    points: readonly Cursor[],
    now: EpochMs,
  ): Promise<ContinuityState> {
    if (head.number < stored.blockNumber) return this.#ofShorter(stored, head, points, now);
    const isWhole = await stands(chain, stored, head);
    if (isWhole === undefined) return this.#waiting(now);
    this.#behindSince = undefined;
    return isWhole ? 'whole' : 'broken';
  }

  /**
   * The same chain where the head's height is remembered with its hash. Where it is not, a newest block that is older than ours,
   * and yet recent, is given some time; one of long ago (a dev chain restored from a file) is not.
   */
  #ofShorter(stored: Cursor, head: Block, points: readonly Cursor[], now: EpochMs): ContinuityState {
    const scanned = points.find(({ blockNumber }) => blockNumber === head.number);
    if (scanned?.blockHash === head.hash) return 'waiting';
    const isRecent = now / 1000 - head.timestamp < lagSeconds;
    if (scanned === undefined && head.timestamp < stored.timestamp && isRecent) return this.#waiting(now);
    this.#behindSince = undefined;
    return 'broken';
  }

  #waiting(now: EpochMs): ContinuityState {
    this.#behindSince ??= now;
    return now - this.#behindSince < catchUpMs ? 'waiting' : 'broken';
  }
}

/** The newest of the points that is a part of the chain; undefined where none is known to be. Throws UNAVAILABLE. */
export async function commonPoint(
  chain: Chain,
  points: readonly Cursor[],
  head: Block,
): Promise<Cursor | undefined> {
  for (const point of points) if ((await stands(chain, point, head)) === true) return point;
  return undefined;
}

/** Undefined where the node has no such block, although the head is above it. */
async function stands(chain: Chain, cursor: Cursor, head: Block): Promise<boolean | undefined> {
  if (cursor.blockNumber > head.number) return false;
  if (cursor.blockNumber === head.number) return cursor.blockHash === head.hash;
  const block = await chain.block(cursor.blockNumber);
  return block === undefined ? undefined : block.hash === cursor.blockHash;
}
