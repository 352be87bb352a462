import type { Reports } from '../../core/policy/reports.js';
import type { ServedReport } from '../../core/policy/served-reports.js';
import type { ServingReport } from '../../core/policy/serving-reports.js';
import type { Clock, EpochMs } from '../../core/units/time.js';
import { createPolled, type Polled, type PolledDeps } from './polled.js';
import { given } from '../../core/units/given.js';
import { type EpochCopies, lossEndsAt, lossIdOf } from '../../core/usage/epoch.js';
import type { ConditionReason } from '../../core/meta/condition-reasons.js';

/** Reports of the servers: the trouble of each policy that keeps its paymaster from sponsoring at the moment, and of each chain. */
export type ServingFacts = Polled<string, ServingReport['trouble']>;
/** Versions of each chain whose token mode has stopped, according to the followers' reports. */
export type LossFacts = Polled<number, ReadonlySet<string>>;
/** How far replicas have followed the compiled objects. */
export type ServedFacts = Polled<string, ServedReport>;

type Reported = { readonly reports: Pick<Reports, 'all'> };

export function createServingFacts(deps: PolledDeps<string> & Reported): ServingFacts {
  return createPolled(deps, 'troubles that servers report', async () => {
    const all = await deps.reports.all('serving');
    return new Map([...all].map(([subject, { trouble }]) => [subject, trouble]));
  });
}

export function createServedFacts(deps: PolledDeps<string> & Reported): ServedFacts {
  return createPolled(deps, 'what replicas serve', () => deps.reports.all('served'));
}

/** A day that has ended counts as ended even if no report says so. */
export function createLossFacts(deps: PolledDeps<number> & Reported & { readonly clock: Clock }): LossFacts {
  return createPolled(deps, 'losses of token payments', async () => {
    const all = await deps.reports.all('losses');
    const now = deps.clock.now();
    return new Map(
      [...all].map(([chainId, { stopped }]) => [
        Number(chainId),
        new Set(stopped.filter(({ until }) => until > now).map(({ version }) => version)),
      ]),
    );
  });
}

/**
 * Whether the usage store still holds the data of a chain, according to the copies of its epochs that the followers
 * write.
 */
export type UsageFact = {
  readonly level: Extract<ConditionReason<'UsageStoreLost'>, 'Kept' | 'Lost'>;
  /** The id of the loss, as soon as a follower has noted it. */
  readonly lossId?: string;
  /** When signing begins again by itself. */
  readonly endsAt?: EpochMs;
  /** Of windows that began before, nobody knows what was used; 0: of none. */
  readonly since: EpochMs;
};
export type UsageFacts = Polled<number, UsageFact>;

export function createUsageFacts(deps: PolledDeps<number> & { readonly epochs: EpochCopies }): UsageFacts {
  return createPolled(deps, 'epochs of the usage store', async () => {
    const all = await deps.epochs.all();
    return new Map(
      [...all].map(([chainId, epoch]): [number, UsageFact] => {
        const lossId = lossIdOf(epoch);
        const { since, isMoved } = epoch;
        if (lossId === undefined) return [chainId, { level: isMoved === true ? 'Lost' : 'Kept', since }];
        return [chainId, { level: 'Lost', lossId, since, ...given({ endsAt: lossEndsAt(epoch) }) }];
      }),
    );
  });
}
