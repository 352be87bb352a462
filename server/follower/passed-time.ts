import type { Block } from '../../core/chain/chain.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import { toSeconds, type EpochMs, type EpochSeconds } from '../../core/units/time.js';
import type { Source } from './source.js';

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
