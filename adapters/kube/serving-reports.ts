import { isDeepStrictEqual } from 'node:util';
import { DomainError } from '../../core/errors.js';
import {
  formatServingReport,
  mergeEntries,
  parseServingReport,
  type ServingEntries,
  type ServingReports,
} from '../../core/policy/serving-reports.js';
import type { Clock } from '../../core/units/time.js';
import { createNamedConfigMap, type ConfigMap } from './config-map.js';
import type { KubeTransport } from './transport.js';

export const servingConfigMap = 'paymaster-serving';

const mostAttempts = 5;

/** Reports of all servers in one ConfigMap of the system namespace, by policyId. */
export function createKubeServingReports(deps: {
  readonly transport: Pick<KubeTransport, 'request'>;
  readonly namespace: string;
  readonly clock: Clock;
}): ServingReports {
  const map = createNamedConfigMap({ ...deps, name: servingConfigMap });
  const entriesOf = (found: ConfigMap | undefined): ServingEntries =>
    new Map(
      Object.entries(found?.data ?? {}).flatMap(([policyId, text]) => {
        const report = parseServingReport(text);
        return report === undefined ? [] : [[policyId, report] as const];
      }),
    );
  return {
    all: async () => mergeEntries(entriesOf(await map.read()), new Map(), deps.clock.now()),
    async merge(added) {
      for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
        const present = await map.read();
        const merged = mergeEntries(entriesOf(present), added, deps.clock.now());
        const data = Object.fromEntries(
          [...merged].map(([policyId, report]) => [policyId, formatServingReport(report)]),
        );
        if (isDeepStrictEqual(data, present?.data)) return;
        if (await map.write(present, data)) return;
      }
      throw new DomainError('UNAVAILABLE', `ConfigMap ${servingConfigMap} is being written by others`, {
        reason: 'CONFLICT',
      });
    },
  };
}
