import type { Block } from '../../core/chain/chain.js';
import type { Cursor, FollowerStep } from '../../core/usage/follower-step.js';
import type { Reservation } from '../../core/usage/reservation.js';
import type { ChainFollowerDeps } from './chain-follower-deps.js';
import { commonPoint } from './continuity.js';
import type { History } from './history.js';
import { movementsTakenBack } from './movement-recorder.js';
import { reversals } from './records.js';
import type { Source } from './source.js';

export type TakenBack = {
  readonly step: FollowerStep;
  /** The last remembered block that is still in the chain; undefined: none is. */
  readonly common: Cursor | undefined;
  readonly restored: readonly Reservation[];
  /** See {@link History.after}. */
  readonly givenBack: number;
};

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
): Promise<TakenBack | undefined> {
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
