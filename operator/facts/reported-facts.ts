import type { Reports } from '../../core/policy/reports.js';
import type { ServingReport } from '../../core/policy/serving-reports.js';
import type { Clock } from '../../core/units/time.js';
import { createPolled, type Polled, type PolledDeps } from './polled.js';

/** Reports of the servers: the trouble of each policy that keeps its paymaster from sponsoring at the moment, and of each chain. */
export type ServingFacts = Polled<string, ServingReport['trouble']>;
/** Versions of each chain whose token mode has stopped, according to the followers' reports. */
export type LossFacts = Polled<number, ReadonlySet<string>>;

type Reported = { readonly reports: Pick<Reports, 'all'> };

export function createServingFacts(deps: PolledDeps<string> & Reported): ServingFacts {
  return createPolled(deps, 'troubles that servers report', async () => {
    const all = await deps.reports.all('serving');
    return new Map([...all].map(([subject, { trouble }]) => [subject, trouble]));
  });
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
