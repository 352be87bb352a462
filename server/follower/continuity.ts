import type { Block, Chain } from '../../core/chain/chain.js';
import type { Logger } from '../../core/log.js';
import { toSeconds, type EpochMs, type EpochSeconds } from '../../core/units/time.js';
import type { Cursor, FollowerStep } from '../../core/usage/follower-step.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { History } from './history.js';
import { movementsTakenBack } from './movement-recorder.js';
import type { ChainFollowerDeps } from './round.js';
import { blockAt, type Source } from './source.js';
import { reversals } from './step-records.js';

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
 * Each round looks anew, so the chain may turn any of them into any other. `replaced` and `forgotten` are `broken` without a remembered
 * step that still stands, before and after {@link takeBackStep} has taken back what it could.
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
export async function checkContinuity(
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
async function commonPoint(
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

/** How far back to scan when we know no block that a reorganisation has left in the chain. */
const blindRescanBlocks = 256;
/** The longest expiry of any promise. For this long after a blind rescan, an operation that nobody has promised proves nothing. */
const maxPromiseSeconds = 86_400;

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
    this.blindUntil = head.timestamp + maxPromiseSeconds;
    this.through = Math.min(stored.blockNumber, head.number);
    log.warn('chain is scanned again from before the settled block', {
      settledBlock: stored.blockNumber,
      head: head.number,
      rescanFrom: from,
    });
    return from;
  }
}

/**
 * A pending block shows the node's time. A real block that has not arrived yet may be this much older, so an expiry
 * counts only when it lies further back than this.
 */
const pendingMarginSeconds = 30;

/**
 * The time before which all mined operations are known: the time of the settled block, `target`. If that block is the head and the
 * chain is idle (a dev chain), it is the pending block's time, since no block can be mined with an earlier one.
 * Undefined where no promise has expired, whatever the chain says. Throws UNAVAILABLE.
 */
export async function passedTime(of: {
  readonly source: Pick<Source, 'chain' | 'chainId' | 'confirmations'>;
  readonly head: Block;
  readonly target: Block;
  readonly usage: Pick<UsageStore, 'reservations'>;
  readonly now: EpochMs;
}): Promise<EpochSeconds | undefined> {
  const { source, head, target, usage, now } = of;
  const { chain, chainId } = source;
  const settledTime = target.timestamp as EpochSeconds;
  // A pending block is not final.
  if (target.hash !== head.hash || source.confirmations === 'finalized') return settledTime;
  const clockTime = toSeconds(now);
  const expiredBefore = clockTime > settledTime ? clockTime : settledTime;
  const query = { operations: [], expiredBefore, limit: 1 };
  if ((await usage.reservations(chainId, query)).length === 0) return undefined;
  const pending = await chain.block('pending').catch(() => undefined);
  if (pending?.parentHash !== head.hash) return settledTime;
  return Math.max(settledTime, pending.timestamp - pendingMarginSeconds) as EpochSeconds;
}

/**
 * The step back to the last remembered block that is still in the chain. Reservations that ended after it are live again, and what they
 * counted is taken back, even if others have been promised the difference since. The next rounds settle the operations of the new
 * blocks. Undefined when nothing is remembered. When no remembered block is left the cursor does not move: whichever process scans
 * next must not mistake reservations that are live again for operations that nobody has promised. Throws UNAVAILABLE.
 */
export async function takeBackStep(
  { ledger, chainId }: Pick<ChainFollowerDeps, 'ledger' | 'chainId'>,
  source: Source,
  history: History,
  { stored, head }: { readonly stored: Cursor; readonly head: Block },
) {
  if (history.points()[0]?.blockHash !== stored.blockHash) return undefined;
  const common = await commonPoint(source, history.points(), head);
  const { restored, charges, givenBack } = history.after(common);
  if (common === undefined && restored.length === 0 && charges.length === 0) return undefined;
  const step: FollowerStep = {
    chainId,
    expected: stored,
    next: common ?? stored,
    takesBackAfter: common?.blockNumber ?? -1,
    restored,
    records:
      ledger === undefined
        ? []
        : [
            ...reversals(restored, { ...ledger, chainId }),
            ...(common === undefined ? [] : [movementsTakenBack(ledger, chainId, common.blockNumber)]),
          ],
    charges,
    settled: [],
    released: [],
    forfeited: [],
    balances: [],
  };
  return { step, common, restored, givenBack };
}
