import {
  formatServingReport,
  mergeEntries,
  parseServingReport,
  type ServingEntries,
  type ServingReports,
} from '../../core/policy/serving-reports.js';
import type { Clock } from '../../core/units/time.js';
import { createNamedConfigMap, type ConfigMapPlace } from './config-map.js';

export const servingConfigMap = 'paymaster-serving';

/** Reports of all servers in one ConfigMap of the system namespace, by policyId. */
export function createKubeServingReports(deps: ConfigMapPlace & { readonly clock: Clock }): ServingReports {
  const map = createNamedConfigMap({ ...deps, name: servingConfigMap });
  return {
    all: async () => mergeEntries(entriesOf((await map.read())?.data), new Map(), deps.clock.now()),
    merge: (added) =>
      map.update((data) => {
        const merged = mergeEntries(entriesOf(data), added, deps.clock.now());
        return Object.fromEntries(
          [...merged].map(([policyId, report]) => [policyId, formatServingReport(report)]),
        );
      }),
  };
}

function entriesOf(data: Readonly<Record<string, string>> = {}): ServingEntries {
  return new Map(
    Object.entries(data).flatMap(([policyId, text]) => {
      const report = parseServingReport(text);
      return report === undefined ? [] : [[policyId, report] as const];
    }),
  );
}
