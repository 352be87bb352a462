import type { Block, Chain } from '../../core/chain/chain.js';
import type { Logger } from '../../core/log.js';
import type { Cursor } from '../../core/usage/follower-step.js';
import { blockAt, type Source } from './source.js';

/**
 * What a round finds about the settled block, and what it does about it. `whole`: a step forward. `waiting`: nothing. Of a block that is
 * `broken`, an earlier step still stands; of one that is `replaced` none does; where it is `forgotten` nothing can be taken back.
 *
 *     whole     ── the node lags ───────────► waiting
 *     waiting   ── the node has caught up ──► whole
 *     whole     ── a reorganisation ────────► broken
 *     whole     ── another chain ───────────► replaced
 *     broken    ── takeBackStep ────────────► whole
 *     replaced  ── takeBackStep ────────────► forgotten
 *     forgotten ── Rescan.start ────────────► whole
 *
 * Each round looks anew, so the chain may turn any of them into any other.
 *
 * `whole`: the settled block is a part of the chain. `broken`: it is proven that it is not. `waiting`: neither is known, e.g. because the
 * node lags, or because a load balancer has chosen a node without blocks that another node has shown.
 */
export type ContinuityState = 'whole' | 'waiting' | 'broken';

/**
 * Tells a reorganisation below the settled block from a node that lags. Only blocks are proof, never the passing of time: a node may
 * lag for hours, and a step back because of it would make reservations live again whose operations were mined. While the chain is
 * shorter than the settled block, the follower waits until the chain is as long, or until its time is later. `points`: remembered
 * positions, newest first. Throws UNAVAILABLE.
 */
export async function continuityOf(
  chain: Chain,
  stored: Cursor,
  head: Block,
  points: readonly Cursor[],
): Promise<ContinuityState> {
  if (head.number >= stored.blockNumber) {
    const isWhole = await stands(chain, stored, head);
    if (isWhole === undefined) return 'waiting';
    return isWhole ? 'whole' : 'broken';
  }
  // Time never runs back from block to block: a lower block with a later time cannot lead to the settled one.
  if (head.timestamp > stored.timestamp) return 'broken';
  const below = points.find(({ blockNumber }) => blockNumber <= head.number);
  if (below === undefined) return 'waiting';
  return (await stands(chain, below, head)) === false ? 'broken' : 'waiting';
}

/** The newest of the points that is a part of the chain; undefined if no point is. Throws UNAVAILABLE, also when the node lacks a block. */
export async function commonPoint(
  source: Source,
  points: readonly Cursor[],
  head: Block,
): Promise<Cursor | undefined> {
  for (const point of points) {
    if (point.blockNumber > head.number) continue;
    const block = point.blockNumber === head.number ? head : await blockAt(source, point.blockNumber);
    if (block.hash === point.blockHash) return point;
  }
  return undefined;
}

/** Undefined when the node has no such block, although its head is at least as high. */
async function stands(chain: Chain, cursor: Cursor, head: Block): Promise<boolean | undefined> {
  if (cursor.blockNumber === head.number) return cursor.blockHash === head.hash;
  const block = await chain.block(cursor.blockNumber);
  return block === undefined ? undefined : block.hash === cursor.blockHash;
}

/** Says once that a node lags behind; after that the metric shows it. */
export class Lag {
  readonly #log: Pick<Logger, 'warn'>;
  #isWaiting = false;

  constructor(log: Pick<Logger, 'warn'>) {
    this.#log = log;
  }

  note(state: ContinuityState, at: { readonly settledBlock: number; readonly head: number }): void {
    const isWaiting = state === 'waiting';
    if (isWaiting && !this.#isWaiting)
      this.#log.warn('node lags behind the settled block: waiting for it', at);
    this.#isWaiting = isWaiting;
  }
}
