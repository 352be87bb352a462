import { lossIdOf, type EpochCopies } from '../../core/usage/epoch.js';
import type { ConditionReason } from '../../core/meta/condition-reasons.js';
import { createPolled, type Polled, type PolledDeps } from './polled.js';

/**
 * Whether the usage store still holds the data of a chain, according to the copies of its epochs that the followers
 * write.
 */
export type UsageFact = {
  readonly level: Extract<ConditionReason<'UsageStoreLost'>, 'Kept' | 'Lost'>;
  /** The id of the loss, as soon as a follower has noted it. */
  readonly lossId?: string;
};
export type UsageFacts = Polled<number, UsageFact>;

export function createUsageFacts(deps: PolledDeps<number> & { readonly epochs: EpochCopies }): UsageFacts {
  return createPolled(deps, 'epochs of the usage store', async () => {
    const all = await deps.epochs.all();
    return new Map(
      [...all].map(([chainId, epoch]): [number, UsageFact] => {
        const lossId = lossIdOf(epoch);
        if (lossId === undefined) return [chainId, { level: epoch.isMoved === true ? 'Lost' : 'Kept' }];
        return [chainId, { level: 'Lost', lossId }];
      }),
    );
  });
}
