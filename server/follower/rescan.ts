import type { Block } from '../../core/chain/chain.js';
import type { Logger } from '../../core/log.js';
import type { Cursor } from '../../core/usage/follower-step.js';

/** How far back to scan when we know no block that a reorganisation has left in the chain. */
const blindRescanBlocks = 256;
/** The longest expiry of any promise. For this long after a blind rescan, an operation that nobody has promised proves nothing. */
const longestExpirySeconds = 86_400;

/** Where a step begins that does not begin where another ended, and what is not known about its operations. */
export class Rescan {
  /** Blocks up to this one are scanned once more, and their operations may have been settled before. */
  through = -1;
  /** Until this chain time a mined operation may be one that was settled before, without this process knowing. */
  blindUntil = 0;

  /**
   * The first block to scan. For the first cursor ever nothing was promised before, so no earlier block is needed. Otherwise it lies some
   * blocks back, and some of those may have been settled before.
   */
  start(
    stored: Cursor | undefined,
    head: Block,
    { confirmed, log }: { readonly confirmed: number; readonly log: Logger },
  ): number {
    if (stored === undefined) return confirmed + 1;
    const from = Math.max(0, Math.min(stored.blockNumber, head.number) - blindRescanBlocks);
    this.blindUntil = head.timestamp + longestExpirySeconds;
    this.through = Math.min(stored.blockNumber, head.number);
    log.warn('chain is scanned again from before the settled block', {
      settledBlock: stored.blockNumber,
      head: head.number,
      rescanFrom: from,
    });
    return from;
  }
}
