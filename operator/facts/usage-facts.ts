import type { EpochCopies } from '../../core/usage/epoch.js';
import type { ConditionReason } from '../../core/resources/conditions.js';
import { createPolled, type Polled, type PolledDeps } from './polled.js';

/** Whether the usage store still holds the data of each chain, by what the followers write beside it. */
export type UsageFacts = Polled<Exclude<ConditionReason<'UsageStoreLost'>, 'Unknown'>>;

export function createUsageFacts(deps: PolledDeps & { readonly epochs: EpochCopies }): UsageFacts {
  return createPolled(deps, 'epochs of the usage store', async () => {
    const all = await deps.epochs.all();
    return new Map(
      [...all].map(([chainId, { lostAt, isMoved }]) => [
        chainId,
        lostAt === undefined && isMoved !== true ? 'Kept' : 'Lost',
      ]),
    );
  });
}
