import type { ServingReport, ServingReports } from '../../core/policy/serving-reports.js';
import { createPolled, type Polled, type PolledDeps } from './polled.js';

/** Reports of the servers: the trouble of each policy that keeps its paymaster from sponsoring at the moment, and of each chain. */
export type ServingFacts = Polled<string, ServingReport['trouble']>;

export function createServingFacts(
  deps: PolledDeps<string> & { readonly reports: Pick<ServingReports, 'all'> },
): ServingFacts {
  return createPolled(deps, 'troubles that servers report', async () => {
    const all = await deps.reports.all();
    return new Map([...all].map(([policyId, { trouble }]) => [policyId, trouble]));
  });
}
